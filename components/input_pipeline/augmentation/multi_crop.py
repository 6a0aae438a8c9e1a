"""Multi-crop: several large and small views of each image, for learning without labels.

Caron et al. 2020, https://arxiv.org/abs/2006.09882.

Legend: B batch, H height, W width, C channels, V views.
"""

import math
from typing import NamedTuple

import tensorflow as tf

from components.input_pipeline.augmentation import geometry

# Of width to height, and the shares of the area that large and small views show, as in the paper.
_MAX_RATIO = 4 / 3
_LARGE_AREAS, _SMALL_AREAS = (0.14, 1.0), (0.05, 0.14)


class Views(NamedTuple):
    """Views of each image.

    Attributes:
        large_BVHWC: float32 views in [0, 255] that show 14 to 100 % of the image.
        small_BVHWC: float32 views in [0, 255] that show 5 to 14 % of it.
    """

    large_BVHWC: tf.Tensor
    small_BVHWC: tf.Tensor


def multi_crop(
    images_BHWC: tf.Tensor,
    *,
    large_size_px: int,
    small_size_px: int,
    seed_2: tf.Tensor,
    num_large: int = 2,
    num_small: int = 6,
) -> Views:
    """Cuts views out of each image, each at a place of its own, half of them mirrored.

    Args:
        images_BHWC: uint8 images.
        large_size_px: Side of the large views; the paper has 224.
        small_size_px: Side of the small views; the paper has 96.
        seed_2: int64 tensor of shape (2,), such as (seed, global step).
        num_large: Large views of each image, > 0.
        num_small: Small views of each image, > 0.
    """
    large_seed_2, small_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    return Views(
        _views(images_BHWC, num_large, large_size_px, _LARGE_AREAS, large_seed_2),
        _views(images_BHWC, num_small, small_size_px, _SMALL_AREAS, small_seed_2),
    )


def _views(
    images_BHWC: tf.Tensor,
    num_views: int,
    size_px: int,
    areas: tuple[float, float],
    seed_2: tf.Tensor,
) -> tf.Tensor:
    batch, height_px, width_px, channels = tf.unstack(tf.shape(images_BHWC))
    total = batch * num_views
    boxes_T4 = _draw_boxes(total, tf.cast(height_px / width_px, tf.float32), areas, seed_2)
    # `crop_and_resize` counts from the middle of the first pixel to that of the last.
    sizes_2 = tf.cast(tf.stack([height_px, width_px]), tf.float32)
    scale_4 = tf.tile(sizes_2 / tf.maximum(sizes_2 - 1, 1), [2])
    views = tf.image.crop_and_resize(
        images_BHWC,
        geometry.inside((boxes_T4 - 0.5) * scale_4 + 0.5),
        tf.repeat(tf.range(batch), num_views),
        (size_px, size_px),
    )
    return tf.reshape(views, (batch, num_views, size_px, size_px, channels))


def _draw_boxes(
    total: tf.Tensor, shape_ratio: tf.Tensor, areas: tuple[float, float], seed_2: tf.Tensor
) -> tf.Tensor:
    """Draws (top, left, bottom, right) as parts of the image; mirrored ones have left > right."""
    seeds = tf.unstack(tf.random.split(seed_2, 4), num=4)
    area_T = tf.random.stateless_uniform((total,), seeds[0], *areas)
    # Of a crop's width to its height, in pixels; no side may be longer than the image's.
    low_T = tf.maximum(-math.log(_MAX_RATIO), tf.math.log(area_T / shape_ratio))
    high_T = tf.minimum(math.log(_MAX_RATIO), -tf.math.log(area_T * shape_ratio))
    share_T = tf.random.stateless_uniform((total,), seeds[1])
    ratio_T = tf.exp(low_T + share_T * (high_T - low_T))
    # In parts of the image: width over height is the ratio times the image's height over width.
    part_T2 = tf.sqrt(
        tf.stack([area_T / (ratio_T * shape_ratio), area_T * ratio_T * shape_ratio], 1)
    )
    part_T2 = tf.minimum(part_T2, 1.0)
    start_T2 = tf.random.stateless_uniform((total, 2), seeds[2]) * (1 - part_T2)
    top_T, left_T = tf.unstack(start_T2, axis=1)
    bottom_T, right_T = tf.unstack(start_T2 + part_T2, axis=1)
    is_mirrored_T = tf.random.stateless_uniform((total,), seeds[3]) < 0.5
    return tf.stack(
        [
            top_T,
            tf.where(is_mirrored_T, right_T, left_T),
            bottom_T,
            tf.where(is_mirrored_T, left_T, right_T),
        ],
        axis=1,
    )
