"""Flips, translations, rotations and crops of a batch, drawn once for all that moves together.

A draw is a map from each pixel of the result to the place in the image that it shows. Images, masks
and boxes that are given the same map stay on top of each other (`targets` has the other two).

Legend: B batch, H height, W width, C channels.
"""

import math

import tensorflow as tf

from components.input_pipeline.config import AugmentConfig

# Of width to height of a crop, as in https://arxiv.org/abs/1409.4842, relative to the image's own.
_MAX_RATIO = 4 / 3
# Up to so many images are cropped one by one: the kernel for one image is three times as fast as
# that for many boxes, but many small images would be all overhead.
_MAX_SINGLE_CROPS = 16


def draw_transforms(shape_4: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws the maps from pixels of the results to pixels of the images.

    A crop has between `min_crop_area` and all of the image's area, and a width that is 3/4 to 4/3
    of the height, relative to the image; it lies anywhere inside, and begins and ends with a whole
    pixel unless something else moves it. Without crop and rotation, pixels move by whole numbers.

    Args:
        shape_4: int32, shape of the images.
        config: Its flips, translation, rotation and crop are used.
        seed_2: int64 tensor of shape (2,).

    Returns:
        float32 maps (B, 8), as `tf.raw_ops.ImageProjectiveTransformV3` takes them: pixel (x, y) of
        the result shows the place (m0 x + m1 y + m2, m3 x + m4 y + m5).
    """
    batch = shape_4[0]
    seeds = tf.unstack(tf.random.split(seed_2, 5), num=5)
    last_2 = tf.cast(tf.stack([shape_4[2], shape_4[1]]), tf.float32) - 1
    signs_B2 = _draw_signs(config, batch, seeds[0])
    crop_B2 = _draw_crops(config.min_crop_area, batch, seeds[3])
    place_B2 = tf.random.stateless_uniform((batch, 2), seeds[4])
    start_B2 = place_B2 * (1 - crop_B2) * last_2
    stop_B2 = start_B2 + crop_B2 * last_2
    if config.min_crop_area < 1.0 and is_cut_from_whole_pixels(config):
        start_B2, stop_B2 = tf.round(start_B2), tf.round(stop_B2)
    shift_B2 = _draw_shifts(config, batch, seeds[1])
    scale_B2 = signs_B2 * (stop_B2 - start_B2) / tf.maximum(last_2, 1)
    limit = math.radians(config.max_rotation_degrees)
    angle_B = tf.random.stateless_uniform((batch,), seeds[2], -limit, limit)
    # Everything turns about the centre of what is shown.
    return turn(scale_B2, angle_B, target_B2=(start_B2 + stop_B2) / 2 + shift_B2, last_2=last_2)


def turn(
    scale_B2: tf.Tensor, angle_B: tf.Tensor, *, target_B2: tf.Tensor, last_2: tf.Tensor
) -> tf.Tensor:
    """Returns maps (B, 8) that scale and turn, and show a given place in the middle.

    Args:
        scale_B2: Pixels of the image for one of the result, horizontally and vertically.
        angle_B: In radians, clockwise.
        target_B2: The place (x, y) that the middle of the result shows.
        last_2: Index of the last column and row of the result.
    """
    cosine_B, sine_B = tf.cos(angle_B), tf.sin(angle_B)
    xx_B, xy_B = scale_B2[:, 0] * cosine_B, -scale_B2[:, 0] * sine_B
    yx_B, yy_B = scale_B2[:, 1] * sine_B, scale_B2[:, 1] * cosine_B
    centre_2 = last_2 / 2
    x_B = target_B2[:, 0] - xx_B * centre_2[0] - xy_B * centre_2[1]
    y_B = target_B2[:, 1] - yx_B * centre_2[0] - yy_B * centre_2[1]
    zeros_B = tf.zeros_like(x_B)
    return tf.stack([xx_B, xy_B, x_B, yx_B, yy_B, y_B, zeros_B, zeros_B], axis=1)


def is_cut_from_whole_pixels(config: AugmentConfig) -> bool:
    """Tells whether a crop alone decides what is shown, so that it can end with whole pixels."""
    return not (config.max_rotation_degrees or config.max_translation_px)


def apply(images_BHWC: tf.Tensor, transforms_B8: tf.Tensor, config: AugmentConfig) -> tf.Tensor:
    """Moves or resamples images by the quickest operation that the config allows.

    Outside of an image is zero.

    Args:
        images_BHWC: uint8 images.
        transforms_B8: From `draw_transforms` with the same config.
        config: See `draw_transforms`.

    Returns:
        Images of the same shape: uint8 if pixels move by whole numbers, else float32, in
        [0, 255], by bilinear interpolation.
    """
    if config.max_rotation_degrees:
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=tf.cast(images_BHWC, tf.float32),
            transforms=transforms_B8,
            output_shape=tf.shape(images_BHWC)[1:3],
            fill_value=0.0,
            interpolation="BILINEAR",
            fill_mode="CONSTANT",
        )
    if config.min_crop_area < 1.0:
        return _crop(images_BHWC, transforms_B8, config)
    if config.max_translation_px:
        return _move(images_BHWC, transforms_B8, margin=config.max_translation_px)
    return tf.gather(with_flips(images_BHWC, config), _flipped_index(transforms_B8, config))


def with_flips(images_BHWC: tf.Tensor, config: AugmentConfig) -> tf.Tensor:
    """Puts the images' mirrored and upended copies behind them, for those flips that are on.

    To look an image up in the result takes a fifth of the time of `tf.where`, which looks up the
    condition for each pixel.

    Args:
        images_BHWC: Images of any dtype.
        config: Its flips are used.

    Returns:
        Images (2 B, H, W, C) or (4 B, H, W, C): all that are mirrored come after all that are not,
        and all that are upended after those; (B, H, W, C) without flips.
    """
    batch, height_px, width_px, channels = tf.unstack(tf.shape(images_BHWC))
    if config.horizontal_flip:
        # With three axes, the reversal of pixels has a kernel that is four times as fast.
        rows = tf.reshape(images_BHWC, (batch * height_px, width_px, channels))
        mirrored = tf.reshape(tf.reverse(rows, [1]), tf.shape(images_BHWC))
        images_BHWC = tf.concat([images_BHWC, mirrored], 0)
    if config.vertical_flip:
        images_BHWC = tf.concat([images_BHWC, tf.reverse(images_BHWC, [1])], 0)
    return images_BHWC


def _flipped_index(transforms_B8: tf.Tensor, config: AugmentConfig) -> tf.Tensor:
    """Returns where in the result of `with_flips` each image's flipped one is: int32 (B,)."""
    batch = tf.shape(transforms_B8)[0]
    index_B, size = tf.range(batch), batch
    for is_on, column in ((config.horizontal_flip, 0), (config.vertical_flip, 4)):
        if is_on:
            index_B += size * tf.cast(transforms_B8[:, column] < 0, tf.int32)
            size *= 2
    return index_B


def inside(boxes_B4: tf.Tensor) -> tf.Tensor:
    """Cuts off boxes for `tf.image.crop_and_resize` where the image ends, and a hair before.

    Rounding would otherwise put the last pixel outside, which is black.

    Args:
        boxes_B4: float32 (top, left, bottom, right), of the image's first pixel 0 and its last 1.
    """
    return tf.clip_by_value(boxes_B4, 1e-6, 1.0 - 1e-6)


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


def _move(images_BHWC: tf.Tensor, transforms_B8: tf.Tensor, *, margin: int) -> tf.Tensor:
    _, height_px, width_px, _ = tf.unstack(tf.shape(images_BHWC))
    columns_BW = _places(width_px, transforms_B8[:, 0], transforms_B8[:, 2])
    rows_BH = _places(height_px, transforms_B8[:, 4], transforms_B8[:, 5])
    return pick_pixels(
        images_BHWC,
        tf.cast(tf.round(rows_BH), tf.int32),
        tf.cast(tf.round(columns_BW), tf.int32),
        margin=margin,
    )


def _places(size_px: tf.Tensor, scale_B: tf.Tensor, start_B: tf.Tensor) -> tf.Tensor:
    pixels = tf.range(tf.cast(size_px, tf.float32))
    return scale_B[:, None] * pixels + start_B[:, None]


def _crop(images_BHWC: tf.Tensor, transforms_B8: tf.Tensor, config: AugmentConfig) -> tf.Tensor:
    """Applies transforms without a rotation, several times as fast as the general operation."""
    is_inside = is_cut_from_whole_pixels(config)
    if is_inside and images_BHWC.shape[0] and images_BHWC.shape[0] <= _MAX_SINGLE_CROPS:
        return _crop_singly(images_BHWC, transforms_B8, config)
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    last_2 = tf.cast(tf.stack([height_px, width_px]), tf.float32) - 1
    start_B2 = tf.gather(transforms_B8, (5, 2), axis=1)
    stop_B2 = start_B2 + tf.gather(transforms_B8, (4, 0), axis=1) * last_2
    boxes_B4 = tf.concat([start_B2, stop_B2], 1) / tf.tile(tf.maximum(last_2, 1), [2])
    if is_inside:
        boxes_B4 = inside(boxes_B4)
    return tf.image.crop_and_resize(
        images_BHWC, boxes_B4, tf.range(batch), tf.stack([height_px, width_px])
    )


def _crop_singly(
    images_BHWC: tf.Tensor, transforms_B8: tf.Tensor, config: AugmentConfig
) -> tf.Tensor:
    """Does what `tf.image.crop_and_resize` does with boxes of whole pixels."""
    last_2 = tf.cast(tf.shape(images_BHWC)[1:3], tf.float32) - 1
    scale_B2 = tf.gather(transforms_B8, (4, 0), axis=1)
    start_B2 = tf.gather(transforms_B8, (5, 2), axis=1)
    # In a flipped image the box lies on the other side.
    start_B2 = tf.where(scale_B2 < 0, last_2 - start_B2, start_B2)
    begin_B2 = tf.cast(tf.round(start_B2), tf.int32)
    size_B2 = tf.cast(tf.round(tf.abs(scale_B2) * last_2), tf.int32) + 1
    choices = with_flips(images_BHWC, config)
    ones_B1 = tf.ones_like(size_B2[:, :1])
    image_B1 = _flipped_index(transforms_B8, config)[:, None]
    begin_B4 = tf.concat([image_B1, begin_B2, 0 * ones_B1], 1)
    size_B4 = tf.concat([ones_B1, size_B2, -ones_B1], 1)
    return tf.concat(
        [
            tf.raw_ops.ResizeBilinear(
                images=tf.cast(tf.slice(choices, begin_4, size_4), tf.float32),
                size=tf.shape(images_BHWC)[1:3],
                align_corners=True,
            )
            for begin_4, size_4 in zip(tf.unstack(begin_B4), tf.unstack(size_B4), strict=True)
        ],
        axis=0,
    )


def _draw_signs(config: AugmentConfig, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws 1.0, or -1.0 for a flip, for the columns and the rows of each image: (B, 2)."""
    chances = [0.5 * config.horizontal_flip, 0.5 * config.vertical_flip]
    is_flipped_B2 = tf.random.stateless_uniform((batch, 2), seed_2) < chances
    return tf.where(is_flipped_B2, -1.0, 1.0)


def _draw_shifts(config: AugmentConfig, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws how far the place that is shown moves, (x, y) in pixels: (B, 2)."""
    margin = config.max_translation_px
    if config.max_rotation_degrees or config.min_crop_area < 1.0:
        return tf.random.stateless_uniform((batch, 2), seed_2, -float(margin), float(margin))
    shift_B2 = tf.random.stateless_uniform((batch, 2), seed_2, -margin, margin + 1, tf.int32)
    return tf.cast(shift_B2, tf.float32)


def _draw_crops(min_area: float, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws the width and height (B, 2) of crops as parts of the image's, each at most 1."""
    area_seed_2, ratio_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    area_B = tf.random.stateless_uniform((batch,), area_seed_2, min_area, 1.0)
    # A ratio beyond the area itself would make one side longer than the image.
    limit_B = tf.minimum(-tf.math.log(area_B), math.log(_MAX_RATIO))
    ratio_B = tf.exp(limit_B * tf.random.stateless_uniform((batch,), ratio_seed_2, -1.0, 1.0))
    return tf.sqrt(tf.stack([area_B * ratio_B, area_B / ratio_B], axis=1))
