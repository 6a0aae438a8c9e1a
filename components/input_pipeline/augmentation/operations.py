"""The operations of AutoAugment and RandAugment, each image of a batch by its own.

They are those of https://arxiv.org/abs/1805.09501, table 6, with Pillow's arithmetic, which the
authors' code calls: geometry shows the nearest pixel, and zero outside of the image. A level in
[-1, 1] is a share of an operation's range in that table; its sign is a direction where there is
one.

Legend: B batch, H height, W width, C channels.
"""

import math
from collections.abc import Callable

import tensorflow as tf

_MAX_SHEAR = 0.3
# The table has 150 pixels, of images with 331.
_MAX_TRANSLATION = 150 / 331
_MAX_ROTATION = math.radians(30)
_MAX_CHANGE = 0.9
_MAX_BITS_LOST = 4
# Weights of red, green and blue in Pillow's grey (ITU-R 601).
_GREY = (19595 / 65536, 38470 / 65536, 7471 / 65536)

Operation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def auto_contrast(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Stretches each channel to [0, 255]; the level has no effect."""
    del level_B
    pixels = tf.cast(images_BHWC, tf.float32)
    low = tf.reduce_min(pixels, axis=(1, 2), keepdims=True)
    high = tf.reduce_max(pixels, axis=(1, 2), keepdims=True)
    # A hair more than 255, since what should be a whole number must not be cut to the one below.
    factor = tf.where(high > low, 255.0001 / (high - low), 1.0)
    return tf.cast((pixels - tf.where(high > low, low, 0.0)) * factor, tf.uint8)


def equalize(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Makes the values of each channel about equally frequent; the level has no effect."""
    del level_B
    _, height_px, width_px, channels = tf.unstack(tf.shape(images_BHWC))
    values = tf.cast(tf.transpose(images_BHWC, (0, 3, 1, 2)), tf.int32)
    values_RP = tf.reshape(values, (-1, height_px * width_px))
    # Values of all rows are counted at once, each row's in a range of its own.
    num_rows = tf.shape(values_RP)[0]
    spread_RP = values_RP + 256 * tf.range(num_rows)[:, None]
    counts = tf.math.bincount(tf.reshape(spread_RP, [-1]), minlength=256 * num_rows)
    counts_RV = tf.reshape(counts, (num_rows, 256))
    last_R1 = tf.gather(counts_RV, tf.reduce_max(values_RP, axis=1), batch_dims=1)[:, None]
    step_R1 = (height_px * width_px - last_R1) // 255
    below_RV = tf.cumsum(counts_RV, axis=1, exclusive=True)
    table_RV = tf.minimum((below_RV + step_R1 // 2) // tf.maximum(step_R1, 1), 255)
    table_RV = tf.where(step_R1 > 0, table_RV, tf.range(256)[None])
    flat = tf.gather(tf.reshape(tf.cast(table_RV, tf.uint8), [-1]), spread_RP)
    return tf.transpose(tf.reshape(flat, (-1, channels, height_px, width_px)), (0, 2, 3, 1))


def invert(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Turns v into 255 - v; the level has no effect."""
    del level_B
    return 255 - images_BHWC


def posterize(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Keeps 8 to 4 of the 8 bits of each value."""
    bits_lost_B = tf.cast(tf.round(_MAX_BITS_LOST * tf.abs(level_B)), tf.uint8)
    bits_lost = bits_lost_B[:, None, None, None]
    return tf.bitwise.left_shift(tf.bitwise.right_shift(images_BHWC, bits_lost), bits_lost)


def solarize(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Inverts values from a threshold on, which falls from 255 to 0."""
    threshold = 255 * (1 - tf.abs(level_B))[:, None, None, None]
    is_above = tf.cast(images_BHWC, tf.float32) >= threshold
    return tf.where(is_above, 255 - images_BHWC, images_BHWC)


def saturate(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Moves colours away from their grey or towards it; the table calls it color."""
    return _blend(_grey(images_BHWC), images_BHWC, level_B)


def contrast(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Moves values away from the mean of the image's grey or towards it."""
    mean = tf.reduce_mean(_grey(images_BHWC), axis=(1, 2, 3), keepdims=True)
    return _blend(tf.floor(mean + 0.5), images_BHWC, level_B)


def brightness(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Moves values away from black or towards it."""
    return _blend(tf.zeros(()), images_BHWC, level_B)


def sharpness(images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Moves values away from their smoothed ones or towards them; the rim stays."""
    pixels = tf.cast(images_BHWC, tf.float32)
    kernel_33 = tf.constant([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]) / 13.0
    kernel_33C1 = tf.tile(kernel_33[..., None, None], (1, 1, tf.shape(pixels)[3], 1))
    smooth = tf.nn.depthwise_conv2d(pixels, kernel_33C1, strides=[1] * 4, padding="SAME")
    height_px, width_px = tf.unstack(tf.shape(pixels)[1:3])
    is_inner = _is_inner(height_px)[:, None, None] & _is_inner(width_px)[None, :, None]
    return _blend(tf.where(is_inner, tf.round(smooth), pixels), images_BHWC, level_B)


def shear_x(level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    """Shows at each row a place that lies to the right by up to 0.3 of the row's number."""
    del size_2
    return _affine(level_B, xy=_MAX_SHEAR * level_B)


def shear_y(level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    """Shows at each column a place that lies below by up to 0.3 of the column's number."""
    del size_2
    return _affine(level_B, yx=_MAX_SHEAR * level_B)


def translate_x(level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    """Shows places to the right by whole pixels, up to 150/331 of the width."""
    # Casting cuts off what is behind the point, as the authors' code does.
    shift_B = tf.cast(tf.cast(_MAX_TRANSLATION * level_B * size_2[0], tf.int32), tf.float32)
    return _affine(level_B, x=shift_B)


def translate_y(level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    """Shows places further down by whole pixels, up to 150/331 of the height."""
    shift_B = tf.cast(tf.cast(_MAX_TRANSLATION * level_B * size_2[1], tf.int32), tf.float32)
    return _affine(level_B, y=shift_B)


def rotate(level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    """Turns by up to 30 degrees about the centre, against the clock if the level is above 0."""
    cosine_B, sine_B = tf.cos(_MAX_ROTATION * level_B), tf.sin(_MAX_ROTATION * level_B)
    x, y = size_2[0] / 2, size_2[1] / 2
    return _affine(
        level_B,
        xx=cosine_B,
        xy=-sine_B,
        x=x - cosine_B * x + sine_B * y,
        yx=sine_B,
        yy=cosine_B,
        y=y - sine_B * x - cosine_B * y,
    )


# From (images_BHWC, level_B) to images.
COLOUR_OPERATIONS: dict[str, Operation] = {
    "auto_contrast": auto_contrast,
    "equalize": equalize,
    "invert": invert,
    "posterize": posterize,
    "solarize": solarize,
    "color": saturate,
    "contrast": contrast,
    "brightness": brightness,
    "sharpness": sharpness,
}
# From (level_B, (width, height)) to the maps of `geometry`.
GEOMETRIC_OPERATIONS: dict[str, Operation] = {
    "shear_x": shear_x,
    "shear_y": shear_y,
    "translate_x": translate_x,
    "translate_y": translate_y,
    "rotate": rotate,
}


def _blend(base: tf.Tensor, images_BHWC: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Moves values from a base or towards it by up to 0.9 of their distance."""
    factor = 1 + _MAX_CHANGE * level_B[:, None, None, None]
    blended = base + factor * (tf.cast(images_BHWC, tf.float32) - base)
    return tf.cast(tf.clip_by_value(blended, 0.0, 255.0), tf.uint8)


def _grey(images_BHWC: tf.Tensor) -> tf.Tensor:
    pixels = tf.cast(images_BHWC, tf.float32)
    if images_BHWC.shape[3] == 1:
        return pixels
    # A matrix product is several times as fast as a sum over three channels.
    return tf.floor(tf.tensordot(pixels, tf.constant(_GREY, shape=(3, 1)), 1) + 0.5)


def _is_inner(size_px: tf.Tensor) -> tf.Tensor:
    pixels = tf.range(size_px)
    return (pixels > 0) & (pixels < size_px - 1)


def _affine(
    level_B: tf.Tensor,
    *,
    xx: tf.Tensor | float = 1.0,
    xy: tf.Tensor | float = 0.0,
    x: tf.Tensor | float = 0.0,
    yx: tf.Tensor | float = 0.0,
    yy: tf.Tensor | float = 1.0,
    y: tf.Tensor | float = 0.0,
) -> tf.Tensor:
    """Returns maps (B, 8) between middles of pixels from ones between their edges."""
    zeros_B = tf.zeros_like(level_B)
    rows = (xx, xy, x + 0.5 * (xx + xy - 1), yx, yy, y + 0.5 * (yx + yy - 1), 0.0, 0.0)
    return tf.stack([zeros_B + value for value in rows], axis=1)
