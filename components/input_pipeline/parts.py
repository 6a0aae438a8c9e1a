"""Batches of large images are augmented in parts, whose pixels stay in a processor's cache.

Legend: P parts, B batch, H height, W width, C channels.
"""

import tensorflow as tf

from components.input_pipeline import order
from models import inputs

# Of float32 pixels. Half and twice as much took 10 % longer for images of 128 x 128 px, whose
# overhead grows with the number of parts and whose pixels no longer stay in a cache.
_PART_BYTES = 2 << 20
# A policy applies each of its operations to the images that drew it, a few of a part; in larger
# parts there are more of them for the same overhead.
_POLICY_PARTS = 4


def part_size(global_batch_size: int, spec: inputs.ImageInput, *, has_policy: bool) -> int:
    """Returns how many images are augmented at once: so many that their pixels stay in a cache.

    It divides the batch, and depends on nothing of the machine, since the draws depend on it.

    Args:
        global_batch_size: Images per step.
        spec: Their size.
        has_policy: Whether RandAugment or a policy of AutoAugment is on.

    >>> part_size(
    ...     128,
    ...     inputs.ImageInput(height_px=128, width_px=128, channels=3),
    ...     has_policy=False,
    ... )
    8
    """
    part_bytes = _PART_BYTES * (_POLICY_PARTS if has_policy else 1)
    image_bytes = 4 * spec.height_px * spec.width_px * spec.channels
    limit = max(1, part_bytes // image_bytes)
    return next(
        size
        for size in range(min(limit, global_batch_size), 0, -1)
        if global_batch_size % size == 0
    )


def part_indices(
    steps: tf.data.Dataset, *, size: int, num_parts: int, num_rows: int, seed: int
) -> tf.data.Dataset:
    """Returns (number, indices_B) of the parts of each step.

    A step's parts are numbered on from those of the steps before, so that their examples follow.

    Args:
        steps: int64 global steps.
        size: Examples of a part.
        num_parts: Parts of a step's batch.
        num_rows: Number of examples.
        seed: Seed of the order.
    """

    def one_part(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        indices_B = order.example_indices(
            number, global_batch_size=size, num_rows=num_rows, seed=seed
        )
        return number, indices_B

    if num_parts > 1:
        steps = steps.map(lambda step: step * num_parts + tf.range(num_parts, dtype=tf.int64))
        steps = steps.unbatch()
    return steps.map(one_part)


def join(
    numbers_P: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
    """Puts the parts of a batch together again, and numbers it by its step."""
    images_PBHWC, labels_PB = batch
    parts, size = images_PBHWC.shape[:2]
    images_BHWC = tf.reshape(images_PBHWC, (parts * size, *images_PBHWC.shape[2:]))
    return numbers_P[0] // parts, (images_BHWC, tf.reshape(labels_PB, (parts * size,)))
