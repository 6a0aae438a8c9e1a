"""Random erasing: a rectangle of the image is replaced by noise.

Zhong et al. 2017, https://arxiv.org/abs/1708.04896.

Legend: B batch, H height, W width, C channels.
"""

import math

import tensorflow as tf

# Of the image's area, and of the rectangle's height to its width relative to the image's; as in
# the paper.
_MIN_AREA, _MAX_AREA = 0.02, 0.4
_MAX_RATIO = 1 / 0.3


def erase(images_BHWC: tf.Tensor, *, probability: float, seed_2: tf.Tensor) -> tf.Tensor:
    """Replaces a rectangle of some images by noise.

    Args:
        images_BHWC: uint8 images.
        probability: Of erasing, for each image, in [0, 1].
        seed_2: int64 tensor of shape (2,).

    Returns:
        uint8 images of the same shape.
    """
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    size_seed_2, place_seed_2, chance_seed_2, noise_seed_2 = tf.unstack(
        tf.random.split(seed_2, 4), num=4
    )
    size_B2 = _draw_sizes(batch, size_seed_2)
    start_B2 = tf.random.stateless_uniform((batch, 2), place_seed_2) * (1 - size_B2)
    is_erased_B = tf.random.stateless_uniform((batch,), chance_seed_2) < probability
    in_rows_BH = _is_within(height_px, start_B2[:, 0], size_B2[:, 0])
    in_columns_BW = _is_within(width_px, start_B2[:, 1], size_B2[:, 1])
    mask_BHW = in_rows_BH[:, :, None] & in_columns_BW[:, None, :] & is_erased_B[:, None, None]
    noise_BHWC = tf.random.stateless_uniform(
        tf.shape(images_BHWC), noise_seed_2, maxval=256, dtype=tf.int32
    )
    return tf.where(mask_BHW[..., None], tf.cast(noise_BHWC, tf.uint8), images_BHWC)


def _draw_sizes(batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws height and width (B, 2) as parts of the image's, each at most 1."""
    area_seed_2, ratio_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    area_B = tf.random.stateless_uniform((batch,), area_seed_2, _MIN_AREA, _MAX_AREA)
    # A ratio beyond the area itself would make one side longer than the image.
    limit_B = tf.minimum(-tf.math.log(area_B), math.log(_MAX_RATIO))
    ratio_B = tf.exp(limit_B * tf.random.stateless_uniform((batch,), ratio_seed_2, -1.0, 1.0))
    return tf.sqrt(tf.stack([area_B * ratio_B, area_B / ratio_B], axis=1))


def _is_within(size_px: tf.Tensor, start_B: tf.Tensor, part_B: tf.Tensor) -> tf.Tensor:
    """Tells which pixels of an axis have their centre within [start, start + part): (B, size)."""
    centres = (tf.range(tf.cast(size_px, tf.float32)) + 0.5) / tf.cast(size_px, tf.float32)
    return (centres >= start_B[:, None]) & (centres < (start_B + part_B)[:, None])
