"""Random changes to a whole batch of images at once, each drawn from the seed and the global step.

Working on batches, with one gather per axis, costs a small part of what per-image operations cost.

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
    flip_seed_2, shift_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    if config.horizontal_flip:
        images_BHWC = flip_some(images_BHWC, seed_2=flip_seed_2)
    if config.max_translation_px:
        images_BHWC = translate(
            images_BHWC, max_translation_px=config.max_translation_px, seed_2=shift_seed_2
        )
    return images_BHWC


def flip_some(images_BHWC: tf.Tensor, *, seed_2: tf.Tensor) -> tf.Tensor:
    """Mirrors each image left to right with probability one half."""
    flipped_B = tf.random.stateless_uniform(tf.shape(images_BHWC)[:1], seed_2) < 0.5
    return tf.where(flipped_B[:, None, None, None], images_BHWC[:, :, ::-1], images_BHWC)


def translate(images_BHWC: tf.Tensor, *, max_translation_px: int, seed_2: tf.Tensor) -> tf.Tensor:
    """Moves each image by up to `max_translation_px` along each axis, filling with zeros."""
    margin = max_translation_px
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    padded = tf.pad(images_BHWC, [[0, 0], [margin, margin], [margin, margin], [0, 0]])
    start_B2 = tf.random.stateless_uniform(
        (batch, 2), seed_2, minval=0, maxval=2 * margin + 1, dtype=tf.int32
    )
    rows_BH = start_B2[:, :1] + tf.range(height_px)
    columns_BW = start_B2[:, 1:] + tf.range(width_px)
    moved = tf.gather(padded, rows_BH, axis=1, batch_dims=1)
    moved = tf.gather(moved, columns_BW, axis=2, batch_dims=1)
    return tf.ensure_shape(moved, images_BHWC.shape)
