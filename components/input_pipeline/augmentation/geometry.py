"""Flips, translations, rotations and crops of a batch of images.

Legend: B batch, H height, W width, C channels.
"""

import math

import tensorflow as tf

from components.input_pipeline.config import AugmentConfig

# Of width to height of a crop, as in https://arxiv.org/abs/1409.4842, relative to the image's own.
_MAX_RATIO = 4 / 3


def move(images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Flips and translates by whole pixels, so that every pixel keeps its value.

    Outside of an image is zero.

    Args:
        images_BHWC: Images of any dtype.
        config: Its flips and `max_translation_px` are used.
        seed_2: int64 tensor of shape (2,).
    """
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    flip_seed_2, shift_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    signs_B2 = _draw_signs(config, batch, flip_seed_2)
    if not config.max_translation_px:
        return _flip(images_BHWC, config, signs_B2)
    rows_BH = _indices(height_px, signs_B2[:, 1])
    columns_BW = _indices(width_px, signs_B2[:, 0])
    margin = config.max_translation_px
    shift_B2 = tf.random.stateless_uniform(
        (batch, 2), shift_seed_2, minval=-margin, maxval=margin + 1, dtype=tf.int32
    )
    return pick_pixels(
        images_BHWC, rows_BH + shift_B2[:, :1], columns_BW + shift_B2[:, 1:], margin=margin
    )


def _flip(images_BHWC: tf.Tensor, config: AugmentConfig, signs_B2: tf.Tensor) -> tf.Tensor:
    """Does what `pick_pixels` would do without a margin, in half the time."""
    is_flipped = signs_B2[:, :, None, None, None] < 0
    if config.horizontal_flip:
        images_BHWC = tf.where(is_flipped[:, 0], tf.reverse(images_BHWC, [2]), images_BHWC)
    if config.vertical_flip:
        images_BHWC = tf.where(is_flipped[:, 1], tf.reverse(images_BHWC, [1]), images_BHWC)
    return images_BHWC


def _draw_signs(config: AugmentConfig, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws 1.0, or -1.0 for a flip, for the columns and the rows of each image: (B, 2)."""
    chances = [0.5 * config.horizontal_flip, 0.5 * config.vertical_flip]
    is_flipped_B2 = tf.random.stateless_uniform((batch, 2), seed_2) < chances
    return tf.where(is_flipped_B2, -1.0, 1.0)


def _indices(size_px: tf.Tensor, signs_B: tf.Tensor) -> tf.Tensor:
    forwards = tf.range(size_px)
    return tf.where(signs_B[:, None] < 0, forwards[::-1], forwards)


def pick_pixels(
    images_BHWC: tf.Tensor, rows_BH: tf.Tensor, columns_BW: tf.Tensor, *, margin: int
) -> tf.Tensor:
    """Builds images out of the given rows and columns of others; outside of an image is zero.

    One gather over all pixels takes a third of the time of a gather per axis.

    Args:
        images_BHWC: Images of any dtype.
        rows_BH: int32, which row each row of the result shows, in [-margin, H + margin).
        columns_BW: int32, which column each column shows, in [-margin, W + margin).
        margin: How far the rows and columns may lie outside, >= 0.

    Returns:
        Images of the same shape and dtype.

    >>> image = tf.constant([[1, 2], [3, 4]])[None, :, :, None]
    >>> rows, columns = tf.constant([[0, 1]]), tf.constant([[1, 2]])
    >>> pick_pixels(image, rows, columns, margin=1)[0, :, :, 0].numpy().tolist()
    [[2, 0], [4, 0]]
    """
    padded = tf.pad(images_BHWC, [[0, 0], [margin, margin], [margin, margin], [0, 0]])
    batch, height_px, width_px, channels = tf.unstack(tf.shape(padded))
    first_row_B = tf.range(batch) * height_px + margin
    lines_BH = first_row_B[:, None] + rows_BH
    pixels_BHW = lines_BH[:, :, None] * width_px + columns_BW[:, None, :] + margin
    return tf.gather(tf.reshape(padded, (-1, channels)), pixels_BHW)


def transform(images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Flips, crops, rotates and translates in one bilinear resampling.

    A crop has between `min_crop_area` and all of the image's area, and a width that is 3/4 to 4/3
    of the height, relative to the image; it lies anywhere inside. Outside of an image is zero.

    Args:
        images_BHWC: uint8 images.
        config: Its flips, translation, rotation and crop are used.
        seed_2: int64 tensor of shape (2,).

    Returns:
        uint8 images of the same shape.
    """
    transforms_B8 = _draw_transforms(tf.shape(images_BHWC), config, seed_2)
    if config.max_rotation_degrees:
        resampled = tf.raw_ops.ImageProjectiveTransformV3(
            images=tf.cast(images_BHWC, tf.float32),
            transforms=transforms_B8,
            output_shape=tf.shape(images_BHWC)[1:3],
            fill_value=0.0,
            interpolation="BILINEAR",
            fill_mode="CONSTANT",
        )
    else:
        resampled = _crop(images_BHWC, transforms_B8, is_inside=not config.max_translation_px)
    return tf.saturate_cast(tf.round(resampled), tf.uint8)


def _crop(images_BHWC: tf.Tensor, transforms_B8: tf.Tensor, *, is_inside: bool) -> tf.Tensor:
    """Applies transforms without a rotation, several times as fast as the general operation."""
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    last_2 = tf.cast(tf.stack([height_px, width_px]), tf.float32) - 1
    scale_B2 = tf.gather(transforms_B8, (4, 0), axis=1)
    start_B2 = tf.gather(transforms_B8, (5, 2), axis=1)
    boxes_B4 = tf.concat([start_B2, start_B2 + scale_B2 * last_2], 1) / tf.tile(
        tf.maximum(last_2, 1), [2]
    )
    if is_inside:
        # Rounding must not put an edge outside, which would be black.
        boxes_B4 = tf.clip_by_value(boxes_B4, 0.0, 1.0)
    return tf.image.crop_and_resize(
        images_BHWC, boxes_B4, tf.range(batch), tf.stack([height_px, width_px])
    )


def _draw_transforms(shape: tf.Tensor, config: AugmentConfig, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws the maps (B, 8) from a pixel of the result to the place in the image it shows."""
    batch = shape[0]
    seeds = tf.unstack(tf.random.split(seed_2, 5), num=5)
    size_2 = tf.cast(tf.stack([shape[2], shape[1]]), tf.float32)
    signs_B2 = _draw_signs(config, batch, seeds[0])
    margin = float(config.max_translation_px)
    shift_B2 = tf.random.stateless_uniform((batch, 2), seeds[1], -margin, margin)
    limit = math.radians(config.max_rotation_degrees)
    angle_B = tf.random.stateless_uniform((batch,), seeds[2], -limit, limit)
    crop_B2 = _draw_crops(config.min_crop_area, batch, seeds[3])
    place_B2 = tf.random.stateless_uniform((batch, 2), seeds[4], -0.5, 0.5)
    scale_B2 = signs_B2 * crop_B2
    cosine_B, sine_B = tf.cos(angle_B), tf.sin(angle_B)
    xx_B, xy_B = scale_B2[:, 0] * cosine_B, -scale_B2[:, 0] * sine_B
    yx_B, yy_B = scale_B2[:, 1] * sine_B, scale_B2[:, 1] * cosine_B
    # Everything turns about the centre; a crop's centre lies where the crop stays inside.
    centre_2 = (size_2 - 1) / 2
    target_B2 = centre_2 + shift_B2 + 2 * place_B2 * (1 - crop_B2) * centre_2
    x_B = target_B2[:, 0] - xx_B * centre_2[0] - xy_B * centre_2[1]
    y_B = target_B2[:, 1] - yx_B * centre_2[0] - yy_B * centre_2[1]
    zeros_B = tf.zeros_like(x_B)
    return tf.stack([xx_B, xy_B, x_B, yx_B, yy_B, y_B, zeros_B, zeros_B], axis=1)


def _draw_crops(min_area: float, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws the width and height (B, 2) of crops as parts of the image's, each at most 1."""
    area_seed_2, ratio_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    area_B = tf.random.stateless_uniform((batch,), area_seed_2, min_area, 1.0)
    # A ratio beyond the area itself would make one side longer than the image.
    limit_B = tf.minimum(-tf.math.log(area_B), math.log(_MAX_RATIO))
    ratio_B = tf.exp(limit_B * tf.random.stateless_uniform((batch,), ratio_seed_2, -1.0, 1.0))
    return tf.sqrt(tf.stack([area_B * ratio_B, area_B / ratio_B], axis=1))
