"""Mean and deviation of the targets that are to be predicted.

Axes: B batch, N numbers.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from components.ingest.features.config import TARGET_FEATURE

_ROWS_PER_BATCH = 4096


@dataclasses.dataclass(frozen=True, kw_only=True)
class TargetScale:
    """How large the targets of a split are, in their own unit.

    Attributes:
        mean: Over all numbers of all examples.
        deviation: Likewise, > 0.
    """

    mean: float
    deviation: float


def measure(shards: Sequence[str], *, num_numbers: int) -> TargetScale:
    """Reads the targets of a split once, in float64 and without keeping them.

    Args:
        shards: TFRecord files of tf.Examples with a float feature `target`.
        num_numbers: Numbers N in each target, >= 1.

    Raises:
        ValueError: If a target is not finite, or all targets are the same.
        tf.errors.InvalidArgumentError: If an example has no target, or one of another size.
    """
    features = {TARGET_FEATURE: tf.io.FixedLenFeature((num_numbers,), tf.float32)}
    records = tf.data.TFRecordDataset(list(shards), buffer_size=1 << 20).batch(_ROWS_PER_BATCH)
    count, mean, squares = 0, 0.0, 0.0
    for serialized_B in records:
        targets_BN = tf.io.parse_example(serialized_B, features)[TARGET_FEATURE].numpy()
        _check_finite(targets_BN)
        part = targets_BN.astype(np.float64)
        # Chan's formula joins means and squares without the cancellation of a sum of squares
        # (http://i.stanford.edu/pub/cstr/reports/cs/tr/79/773/CS-TR-79-773.pdf).
        shift = part.mean() - mean
        total = count + part.size
        squares += ((part - part.mean()) ** 2).sum() + shift**2 * count * part.size / total
        mean += shift * part.size / total
        count = total
    if squares == 0.0:
        raise ValueError(
            "The targets of the training split must differ, or there is nothing to learn. "
            f"Received: {count} numbers, each {mean:g}. Look at the column that is the target."
        )
    return TargetScale(mean=float(mean), deviation=math.sqrt(squares / count))


def _check_finite(targets_BN: np.ndarray) -> None:
    bad = targets_BN[~np.isfinite(targets_BN)]
    if bad.size:
        raise ValueError(
            f"Every target must be a finite number. Received: {bad[0]}. Remove such rows."
        )
