"""Random changes to a whole batch of images at once, each drawn from the seed and the global step.

Legend: B batch, H height, W width, C channels.
"""

import tensorflow as tf

from components.input_pipeline.config import AugmentConfig


def augment_images(
    images_BHWC: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor
) -> tf.Tensor:
    """Changes each image of a batch by draws of its own.

    Args:
        images_BHWC: Images of any dtype.
        config: What to do; without anything to do the images come back unchanged.
        seed_2: int64 tensor of shape (2,), such as (seed, global step): equal seeds, equal draws.

    Returns:
        Images of the same shape and dtype.
    """
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    flip_seed_2, shift_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    rows_BH = tf.tile(tf.range(height_px)[None], [batch, 1])
    columns_BW = tf.tile(tf.range(width_px)[None], [batch, 1])
    if config.horizontal_flip:
        is_flipped_B = tf.random.stateless_uniform((batch,), flip_seed_2) < 0.5
        columns_BW = tf.where(is_flipped_B[:, None], width_px - 1 - columns_BW, columns_BW)
    margin = config.max_translation_px
    if margin:
        shift_B2 = tf.random.stateless_uniform(
            (batch, 2), shift_seed_2, minval=-margin, maxval=margin + 1, dtype=tf.int32
        )
        rows_BH, columns_BW = rows_BH + shift_B2[:, :1], columns_BW + shift_B2[:, 1:]
    return pick_pixels(images_BHWC, rows_BH, columns_BW, margin=margin)


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
    picked = tf.gather(tf.reshape(padded, (-1, channels)), pixels_BHW)
    return tf.ensure_shape(picked, images_BHWC.shape)
