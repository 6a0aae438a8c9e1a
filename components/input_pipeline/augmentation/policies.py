"""RandAugment and AutoAugment: which operations change an image, and how strongly.

Legend: B batch, H height, W width, C channels, L operations one after another, S sub-policies.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from components.input_pipeline.augmentation import operations, policy_tables, targets
from components.input_pipeline.config import AugmentConfig, RandAugmentConfig

NAMES = ("identity", *operations.COLOUR_OPERATIONS, *operations.GEOMETRIC_OPERATIONS)
# https://arxiv.org/abs/1909.13719, section 3, has all but one of AutoAugment's operations.
RAND_AUGMENT_NAMES = tuple(name for name in NAMES if name != "invert")
MAX_MAGNITUDE = 30
_MAX_LEVEL = 9
# From (images_BHWC, rows_B) to images; the rows say which of the batch they are.
_RowsOperation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
_FIRST_GEOMETRIC = 1 + len(operations.COLOUR_OPERATIONS)


class Plan(NamedTuple):
    """What is done to each image, one after another."""

    operation_BL: tf.Tensor  # int32: index into `NAMES`.
    level_BL: tf.Tensor  # float32 in [-1, 1]; see `operations`.


def draw_plan(batch: tf.Tensor, config: AugmentConfig, *, seed_2: tf.Tensor) -> Plan:
    """Draws what is done to each image.

    Args:
        batch: int32 scalar, B.
        config: Its `auto_augment`, or else its `rand_augment`, is used.
        seed_2: int64 tensor of shape (2,).
    """
    if config.auto_augment is not None:
        policy = policy_tables.POLICIES[config.auto_augment]
        return draw_auto_augment(batch, policy, seed_2=seed_2)
    settings = config.rand_augment or RandAugmentConfig()
    return draw_rand_augment(
        batch,
        num_operations=settings.num_operations,
        magnitude=settings.magnitude,
        seed_2=seed_2,
    )


def draw_rand_augment(
    batch: tf.Tensor, *, num_operations: int, magnitude: float, seed_2: tf.Tensor
) -> Plan:
    """Draws operations that are all equally likely, of one magnitude (arXiv:1909.13719).

    Args:
        batch: int32 scalar, B.
        num_operations: L, the paper's N.
        magnitude: In [0, 30], the paper's M; 30 is the whole of every operation's range.
        seed_2: int64 tensor of shape (2,).
    """
    kind_seed_2, sign_seed_2 = tf.unstack(tf.random.split(seed_2, 2), num=2)
    choices = tf.constant([NAMES.index(name) for name in RAND_AUGMENT_NAMES])
    shape = (batch, num_operations)
    chosen_BL = tf.random.stateless_uniform(shape, kind_seed_2, 0, len(choices), tf.int32)
    level_BL = _draw_signs(shape, sign_seed_2) * (magnitude / MAX_MAGNITUDE)
    return Plan(tf.gather(choices, chosen_BL), level_BL)


def draw_auto_augment(
    batch: tf.Tensor, policy: tuple[policy_tables.SubPolicy, ...], *, seed_2: tf.Tensor
) -> Plan:
    """Draws a sub-policy for each image; each of its operations has its own probability.

    Args:
        batch: int32 scalar, B.
        policy: S sub-policies, all equally likely.
        seed_2: int64 tensor of shape (2,).
    """
    seeds = tf.unstack(tf.random.split(seed_2, 3), num=3)
    kinds_SL = np.array([[NAMES.index(name) for name, _, _ in sub] for sub in policy], np.int32)
    chances_SL = np.array([[chance for _, chance, _ in sub] for sub in policy], np.float32)
    levels_SL = np.array([[level for _, _, level in sub] for sub in policy], np.float32)
    chosen_B = tf.random.stateless_uniform((batch,), seeds[0], 0, len(policy), tf.int32)
    shape = (batch, kinds_SL.shape[1])
    is_done_BL = tf.random.stateless_uniform(shape, seeds[1]) < tf.gather(chances_SL, chosen_B)
    signs_BL = _draw_signs(shape, seeds[2])
    return Plan(
        tf.where(is_done_BL, tf.gather(kinds_SL, chosen_B), NAMES.index("identity")),
        signs_BL * tf.gather(levels_SL / _MAX_LEVEL, chosen_B),
    )


def apply(images_BHWC: tf.Tensor, plan: Plan) -> tf.Tensor:
    """Does to each image what the plan says.

    Args:
        images_BHWC: uint8 images.
        plan: What is done.

    Returns:
        uint8 images of the same shape.
    """
    for number in range(plan.operation_BL.shape[1]):
        images_BHWC = _apply_one(
            images_BHWC, plan.operation_BL[:, number], plan.level_BL[:, number]
        )
    return images_BHWC


def transforms(plan: Plan, *, height_px: int, width_px: int) -> list[tf.Tensor]:
    """Returns the maps (B, 8) of the plan, for masks and boxes, in the order of application.

    Args:
        plan: What is done.
        height_px: Height of the images.
        width_px: Width of the images.
    """
    size_2 = tf.constant([width_px, height_px], tf.float32)
    return [
        _transforms(plan.operation_BL[:, number], plan.level_BL[:, number], size_2)
        for number in range(plan.operation_BL.shape[1])
    ]


def _apply_one(images_BHWC: tf.Tensor, operation_B: tf.Tensor, level_B: tf.Tensor) -> tf.Tensor:
    """Applies each operation to those images alone that it is meant for."""
    size_2 = tf.cast(tf.reverse(tf.shape(images_BHWC)[1:3], [0]), tf.float32)

    def warp(images: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        maps = _transforms(tf.gather(operation_B, rows), tf.gather(level_B, rows), size_2)
        return targets.warp_masks(images, maps)

    def with_levels(operate: operations.Operation) -> _RowsOperation:
        return lambda images, rows: operate(images, tf.gather(level_B, rows))

    groups = [
        _change(images_BHWC, operation_B == 0, lambda images, rows: images),
        _change(images_BHWC, operation_B >= _FIRST_GEOMETRIC, warp),
    ]
    for index, operate in enumerate(operations.COLOUR_OPERATIONS.values(), start=1):
        groups.append(_change(images_BHWC, operation_B == index, with_levels(operate)))
    rows, changed = zip(*groups, strict=True)
    return tf.dynamic_stitch(rows, changed)


def _change(
    images_BHWC: tf.Tensor, is_chosen_B: tf.Tensor, operate: _RowsOperation
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns which images were chosen, and what the operation makes of them."""
    rows = tf.where(is_chosen_B)[:, 0]
    chosen = tf.gather(images_BHWC, rows)
    # Most operations have no image in a small batch, and even nothing takes them some time.
    changed = tf.cond(tf.size(rows) > 0, lambda: operate(chosen, rows), lambda: chosen)
    return tf.cast(rows, tf.int32), changed


def _transforms(operation_B: tf.Tensor, level_B: tf.Tensor, size_2: tf.Tensor) -> tf.Tensor:
    maps_B8 = tf.tile(tf.constant([[1.0, 0, 0, 0, 1, 0, 0, 0]]), [tf.shape(level_B)[0], 1])
    for index, operate in enumerate(
        operations.GEOMETRIC_OPERATIONS.values(), start=_FIRST_GEOMETRIC
    ):
        maps_B8 = tf.where((operation_B == index)[:, None], operate(level_B, size_2), maps_B8)
    return maps_B8


def _draw_signs(shape: tuple[tf.Tensor, int], seed_2: tf.Tensor) -> tf.Tensor:
    return tf.where(tf.random.stateless_uniform(shape, seed_2) < 0.5, -1.0, 1.0)
