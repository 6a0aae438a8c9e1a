"""Masks and boxes follow their images through the same map.

Legend: B batch, H height, W width, C channels, N boxes of an image.
"""

import tensorflow as tf


def warp_masks(masks_BHWC: tf.Tensor, transforms_B8: tf.Tensor) -> tf.Tensor:
    """Moves masks as their images were moved; each pixel keeps the value of its nearest.

    Args:
        masks_BHWC: uint8 or int32 class or instance of each pixel; 0 is also what lies outside.
        transforms_B8: From `geometry.draw_transforms`.

    Returns:
        Masks of the same shape and dtype, without any new value.
    """
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=masks_BHWC,
        transforms=transforms_B8,
        output_shape=tf.shape(masks_BHWC)[1:3],
        fill_value=0.0,
        interpolation="NEAREST",
        fill_mode="CONSTANT",
    )


def warp_boxes(
    boxes_BN4: tf.Tensor, transforms_B8: tf.Tensor, *, height_px: int, width_px: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Moves boxes as their images were moved, and cuts them off at the image's edge.

    The new box is the smallest that holds the old one's corners.

    Args:
        boxes_BN4: float32 (x0, y0, x1, y1) in pixels; a box around the first pixel alone is
            (0, 0, 1, 1). An empty box, such as (0, 0, 0, 0), fills up a row.
        transforms_B8: From `geometry.draw_transforms`.
        height_px: Height of the images.
        width_px: Width of the images.

    Returns:
        float32 boxes (B, N, 4) and bool (B, N), whether anything is left of each; one of which
        nothing is left is (0, 0, 0, 0).
    """
    corners_BN42 = tf.stack(
        [tf.gather(boxes_BN4, (0, 2, 0, 2), axis=2), tf.gather(boxes_BN4, (1, 1, 3, 3), axis=2)], -1
    )
    is_box_BN = tf.reduce_all(boxes_BN4[..., 2:] > boxes_BN4[..., :2], axis=-1)
    # The maps are of the middles of pixels, which lie half a pixel from their edges.
    moved_BN42 = _invert(corners_BN42 - 0.5, transforms_B8) + 0.5
    limit_2 = tf.constant([width_px, height_px], tf.float32)
    first_BN2 = tf.clip_by_value(tf.reduce_min(moved_BN42, axis=2), 0.0, limit_2)
    last_BN2 = tf.clip_by_value(tf.reduce_max(moved_BN42, axis=2), 0.0, limit_2)
    is_left_BN = is_box_BN & tf.reduce_all(last_BN2 > first_BN2, axis=-1)
    boxes = tf.where(is_left_BN[..., None], tf.concat([first_BN2, last_BN2], -1), 0.0)
    return boxes, is_left_BN


def _invert(places_BN42: tf.Tensor, transforms_B8: tf.Tensor) -> tf.Tensor:
    """Finds where in the result the places (x, y) of the image are shown."""
    xx, xy, x, yx, yy, y = (transforms_B8[:, None, None, index] for index in range(6))
    from_x, from_y = places_BN42[..., 0] - x, places_BN42[..., 1] - y
    determinant = xx * yy - xy * yx
    return tf.stack(
        [
            (yy * from_x - xy * from_y) / determinant,
            (xx * from_y - yx * from_x) / determinant,
        ],
        axis=-1,
    )
