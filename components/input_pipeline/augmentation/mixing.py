"""Mixup and CutMix: each example of a batch is mixed with another, and their labels with them.

Legend: B batch, H height, W width, C channels, K classes.
"""

import tensorflow as tf

from components.input_pipeline.config import AugmentConfig


def mix(
    images_BHWC: tf.Tensor,
    labels_B: tf.Tensor,
    config: AugmentConfig,
    *,
    num_classes: int,
    seed_2: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Mixes the examples of a whole batch; where both kinds are on, a coin decides for each batch.

    Args:
        images_BHWC: uint8 images.
        labels_B: Integers in [0, K).
        config: Its `mixup_alpha` and `cutmix_alpha` are used; at least one is above 0.
        num_classes: K.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).

    Returns:
        uint8 images of the same shape, and float32 shares of the classes (B, K).
    """
    labels_BK = tf.one_hot(labels_B, num_classes)
    coin_seed_2, mix_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)

    def by_mixup() -> tuple[tf.Tensor, tf.Tensor]:
        return mixup(images_BHWC, labels_BK, alpha=config.mixup_alpha, seed_2=mix_seed_2)

    def by_cutmix() -> tuple[tf.Tensor, tf.Tensor]:
        return cutmix(images_BHWC, labels_BK, alpha=config.cutmix_alpha, seed_2=mix_seed_2)

    if not config.cutmix_alpha:
        return by_mixup()
    if not config.mixup_alpha:
        return by_cutmix()
    return tf.cond(tf.random.stateless_uniform((), coin_seed_2) < 0.5, by_mixup, by_cutmix)


def mixup(
    images_BHWC: tf.Tensor, labels_BK: tf.Tensor, *, alpha: float, seed_2: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds to each example another of its batch, with weights that sum to 1.

    Zhang et al. 2017, https://arxiv.org/abs/1710.09412. As in Keras' MixUp layer, every example has
    a weight of its own, drawn from Beta(alpha, alpha).

    Args:
        images_BHWC: uint8 images.
        labels_BK: float32 shares of the classes.
        alpha: > 0; small values leave most examples nearly as they are.
        seed_2: int64 tensor of shape (2,).

    Returns:
        uint8 images, rounded, and float32 labels, of the same shapes.
    """
    order_seed_2, weight_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    order_B = _draw_partners(labels_BK, order_seed_2)
    weight_B = draw_beta(alpha, tf.shape(labels_BK)[0], weight_seed_2)
    images = tf.cast(images_BHWC, tf.float32)
    partners = tf.gather(images, order_B)
    mixed = partners + weight_B[:, None, None, None] * (images - partners)
    labels = _mix_labels(labels_BK, order_B, weight_B)
    return tf.cast(tf.round(mixed), tf.uint8), labels


def cutmix(
    images_BHWC: tf.Tensor, labels_BK: tf.Tensor, *, alpha: float, seed_2: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Puts a rectangle of another example of the batch into each example.

    Yun et al. 2019, https://arxiv.org/abs/1905.04899. The rectangle has the image's shape and
    1 - Beta(alpha, alpha) of its area; its centre lies anywhere, and what lies outside is cut off.
    The labels are mixed by the area that is left of it, counted in pixels.

    Args:
        images_BHWC: uint8 images.
        labels_BK: float32 shares of the classes.
        alpha: > 0; the paper has 1.
        seed_2: int64 tensor of shape (2,).

    Returns:
        uint8 images and float32 labels, of the same shapes.
    """
    order_seed_2, area_seed_2, place_seed_2 = tf.unstack(tf.random.split(seed_2, 3), num=3)
    batch, height_px, width_px = tf.unstack(tf.shape(images_BHWC)[:3])
    order_B = _draw_partners(labels_BK, order_seed_2)
    part_B = tf.sqrt(1 - draw_beta(alpha, batch, area_seed_2))
    centre_B2 = tf.random.stateless_uniform((batch, 2), place_seed_2)
    in_rows_BH = _is_within(height_px, centre_B2[:, 0], part_B)
    in_columns_BW = _is_within(width_px, centre_B2[:, 1], part_B)
    mask_BHW1 = (in_rows_BH[:, :, None] & in_columns_BW[:, None, :])[..., None]
    mixed = tf.where(mask_BHW1, tf.gather(images_BHWC, order_B), images_BHWC)
    covered_B = tf.reduce_mean(tf.cast(mask_BHW1, tf.float32), axis=(1, 2, 3))
    return mixed, _mix_labels(labels_BK, order_B, 1 - covered_B)


def draw_beta(alpha: float, batch: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    """Draws from Beta(alpha, alpha): float32 (B,), in [0, 1].

    Args:
        alpha: > 0.
        batch: int32 scalar, B.
        seed_2: int64 tensor of shape (2,).
    """
    first_B, second_B = tf.unstack(
        tf.random.stateless_gamma((2, batch), seed_2, tf.constant(alpha, tf.float32)), num=2
    )
    # For a small alpha both can be 0 in float32.
    return tf.math.divide_no_nan(first_B, first_B + second_B)


def _draw_partners(labels_BK: tf.Tensor, seed_2: tf.Tensor) -> tf.Tensor:
    return tf.random.experimental.stateless_shuffle(tf.range(tf.shape(labels_BK)[0]), seed_2)


def _mix_labels(labels_BK: tf.Tensor, order_B: tf.Tensor, weight_B: tf.Tensor) -> tf.Tensor:
    weight_B1 = weight_B[:, None]
    return weight_B1 * labels_BK + (1 - weight_B1) * tf.gather(labels_BK, order_B)


def _is_within(size_px: tf.Tensor, centre_B: tf.Tensor, part_B: tf.Tensor) -> tf.Tensor:
    """Tells which pixels of an axis have their middle in a window: (B, size)."""
    middles = (tf.range(tf.cast(size_px, tf.float32)) + 0.5) / tf.cast(size_px, tf.float32)
    return tf.abs(middles - centre_B[:, None]) < part_B[:, None] / 2
