"""The simple forecasts that a model has to beat, and what they need of the training split.

For a table it is the median of the training targets; for a series the value one period before,
which Hyndman calls the seasonal naive method (https://otexts.com/fpp2/simple-methods.html).

Axes: B batch, T steps of the past, C channels, H numbers of a target.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf

from components.ingest.features.config import HISTORY_FEATURE, TARGET_FEATURE, SeriesFeature

_ROWS_PER_BATCH = 512

# Targets (B, H), and the histories (B, T, C) of a series, both float64.
Batch = tuple[np.ndarray, np.ndarray | None]


class Simple(Protocol):
    """A forecast that needs no model.

    Attributes:
        name: What it is, as a noun.
        mase_scale: Mean absolute error of the one-period forecast on the training split, by which
            MASE divides (https://otexts.com/fpp2/accuracy.html); None where it has no meaning.
    """

    name: str
    mase_scale: float | None

    def predict(self, history_BTC: np.ndarray | None, *, num_rows: int) -> np.ndarray:
        """Returns the forecast (B, H) for `num_rows` examples."""


class TrainingMedian(Simple):
    """The median of the training targets, for every example.

    Of all single numbers it has the least mean absolute error; beside the mean, a model that has
    learned nothing but the median would seem to have some skill.

    Args:
        batches: The training split.
    """

    name = "the median of the training split"
    mase_scale = None

    def __init__(self, batches: Iterable[Batch]):
        # Single floats, as they are stored: four million take 16 MB.
        targets = [targets_BH.astype(np.float32).ravel() for targets_BH, _ in batches]
        self._median = float(np.median(np.concatenate(targets)))

    def predict(self, history_BTC: np.ndarray | None, *, num_rows: int) -> np.ndarray:
        """Returns the median (B, 1)."""
        return np.full((num_rows, 1), self._median)


class SeasonalNaive(Simple):
    """The value one period before, or as many periods before as lead into the past.

    Args:
        series: The recipe's series.
        batches: The training split.
    """

    def __init__(self, series: SeriesFeature, batches: Iterable[Batch]):
        self._period = series.period_steps
        self._horizon = series.horizon_steps
        steps = f"{self._period} steps" if self._period > 1 else "one step"
        self.name = f"the value {steps} before"
        total, count = 0.0, 0
        for targets_BH, history_BTC in batches:
            assert history_BTC is not None
            total += np.abs(targets_BH - self._one_period_before(targets_BH, history_BTC)).sum()
            count += targets_BH.size
        scale = total / count
        self.mase_scale = float(scale) if scale > 0.0 else None

    def predict(self, history_BTC: np.ndarray | None, *, num_rows: int) -> np.ndarray:
        """Returns the last period of the history, repeated over the horizon (B, H)."""
        assert history_BTC is not None and len(history_BTC) == num_rows
        steps_H = np.arange(self._horizon) % self._period - self._period
        return history_BTC[:, steps_H, 0]

    def _one_period_before(self, targets_BH: np.ndarray, history_BTC: np.ndarray) -> np.ndarray:
        # Within a long horizon the value one period before is a target itself.
        past_and_future = np.concatenate([history_BTC[:, -self._period :, 0], targets_BH], axis=1)
        return past_and_future[:, : self._horizon]


def make_simple(series: SeriesFeature | None, train_files: Sequence[str]) -> Simple:
    """Makes the simple forecast of a recipe.

    Args:
        series: The recipe's series; None for the target of a table.
        train_files: Shards of the training split, which are read once.

    Raises:
        ValueError: If the training split is empty.
    """
    if not train_files:
        raise ValueError("Expected shards of the training split. Received: none.")
    batches = read_batches(read_records(train_files), series)
    return TrainingMedian(batches) if series is None else SeasonalNaive(series, batches)


def read_records(files: Sequence[str]) -> Iterator[tf.Tensor]:
    """Yields serialized examples (B,) in the order of the shards."""
    yield from tf.data.TFRecordDataset(sorted(files)).batch(_ROWS_PER_BATCH).prefetch(1)


def read_batches(records: Iterable[tf.Tensor], series: SeriesFeature | None) -> Iterator[Batch]:
    """Yields what the examples hold of numbers."""
    for serialized_B in records:
        yield parse(serialized_B, series)


def parse(serialized_B: tf.Tensor, series: SeriesFeature | None) -> Batch:
    """Returns targets and histories of serialized examples, in float64.

    Args:
        serialized_B: tf.Examples as ingested.
        series: The recipe's series; None for the target of a table.
    """
    num_numbers = series.horizon_steps if series else 1
    features = {TARGET_FEATURE: tf.io.FixedLenFeature((num_numbers,), tf.float32)}
    if series:
        shape = (series.history_steps, series.num_channels)
        features[HISTORY_FEATURE] = tf.io.FixedLenFeature(shape, tf.float32)
    parsed = {
        name: values.numpy().astype(np.float64)
        for name, values in tf.io.parse_example(serialized_B, features).items()
    }
    return parsed[TARGET_FEATURE], parsed.get(HISTORY_FEATURE)
