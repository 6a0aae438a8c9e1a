"""Learns vocabularies, means and deviations from the training split, in one pass over it.

Memory grows with the number of different values, not with the number of rows.

Axes: B batch, N columns of numbers.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from components.ingest.config import DataConfig
from components.ingest.features.config import TEXT_FEATURE, TableFeature, TextFeature
from components.transform import raw, words
from components.transform.fitted import (
    AnyFitted,
    FittedSequence,
    FittedTable,
    FittedText,
    NumberStatistics,
)

# The batches are the same whatever the machine, because sums of floats depend on their order.
_ROWS_PER_BATCH = 4096

Counts = collections.Counter[bytes]


def fit(shards: Sequence[str], data: DataConfig) -> AnyFitted:
    """Learns what the recipe's input needs.

    Args:
        shards: Paths of the training split's shards; no other split may have a say.
        data: The recipe's data, with a text or a table.

    Raises:
        ValueError: If the input needs nothing, or a column or the text is empty everywhere.
    """
    batches = _raw_batches(shards, data)
    if data.text is not None:
        return _fit_text(batches, data.text)
    if data.table is not None:
        return _fit_table(batches, data.table)
    raise ValueError(
        f"Only a text or a table is fitted. Received: data.{data.input_name}. Train without it."
    )


def _raw_batches(shards: Sequence[str], data: DataConfig) -> Iterator[raw.RawValues]:
    features = raw.example_features(data)
    records = tf.data.TFRecordDataset(sorted(shards), buffer_size=1 << 20)
    parsed = records.batch(_ROWS_PER_BATCH).map(
        lambda serialized_B: raw.raw_values(tf.io.parse_example(serialized_B, features), data)
    )
    yield from parsed.prefetch(1)


def _fit_text(batches: Iterable[raw.RawValues], text: TextFeature) -> FittedText:
    counts: Counts = collections.Counter()
    for batch in batches:
        _count(words.split_words(batch[TEXT_FEATURE]).flat_values, counts)
    if not counts:
        raise ValueError(
            "Expected words in the texts of the training split. Received: none. "
            "Check data.text.source_name."
        )
    return FittedText(words=_most_frequent(counts, text.vocabulary_size))


def _fit_table(batches: Iterable[raw.RawValues], table: TableFeature) -> FittedTable:
    channels = {
        name: [f"{name}[:, {channel}]" for channel in range(column.channels)]
        for name, column in table.sequences().items()
    }
    numbers = _Moments(table.numbers())
    of_channels = {name: _Moments(names) for name, names in channels.items()}
    counts: dict[str, Counts] = {name: collections.Counter() for name in table.categories()}
    for batch in batches:
        numbers.add(batch)
        for name, names in channels.items():
            values_VC = tf.reshape(batch[name], (-1, len(names)))
            of_channels[name].add(dict(zip(names, tf.unstack(values_VC, axis=1), strict=True)))
        for name, seen in counts.items():
            values_B = words.valid_utf8(batch[name])
            _count(tf.boolean_mask(values_B, values_B != ""), seen)
    in_lists = {name: max(found.counts().values()) for name, found in of_channels.items()}
    in_names = {name: len(seen) for name, seen in counts.items()}
    _check_values({**numbers.counts(), **in_lists, **in_names})
    return FittedTable(
        numbers=numbers.statistics(),
        sequences={
            name: FittedSequence(
                length=column.length, channels=tuple(of_channels[name].statistics().values())
            )
            for name, column in table.sequences().items()
        },
        categories={
            name: _most_frequent(counts[name], limit) for name, limit in table.max_values().items()
        },
    )


def _check_values(counts: dict[str, int]) -> None:
    empty = [name for name, count in counts.items() if not count]
    if empty:
        raise ValueError(
            "Expected values in every column of the training split. "
            f"Received: none in {', '.join(empty)}. Take them out of data.table.columns."
        )


class _Moments:
    """Count, mean and summed squared deviation of columns, merged batch by batch.

    Merging keeps the digits that a sum of squares would lose
    (https://doi.org/10.1080/00031305.1983.10483115).
    """

    def __init__(self, names: Sequence[str]):
        self._names = tuple(names)
        self._count_N = np.zeros(len(names))
        self._mean_N = np.zeros(len(names))
        self._squares_N = np.zeros(len(names))

    def add(self, batch: raw.RawValues) -> None:
        """Takes the columns of one batch; what is not finite is missing."""
        if not self._names:
            return
        values_NB = np.stack([batch[name].numpy() for name in self._names]).astype(np.float64)
        is_there_NB = np.isfinite(values_NB)
        values_NB = np.where(is_there_NB, values_NB, 0.0)
        count_N = is_there_NB.sum(1)
        mean_N = values_NB.sum(1) / np.maximum(count_N, 1)
        squares_N = (np.where(is_there_NB, values_NB - mean_N[:, None], 0.0) ** 2).sum(1)
        total_N = np.maximum(self._count_N + count_N, 1)
        difference_N = mean_N - self._mean_N
        self._squares_N += squares_N + difference_N**2 * self._count_N * count_N / total_N
        self._mean_N += difference_N * count_N / total_N
        self._count_N += count_N

    def counts(self) -> dict[str, int]:
        """Returns how many values each column has."""
        return dict(zip(self._names, self._count_N.astype(int).tolist(), strict=True))

    def statistics(self) -> dict[str, NumberStatistics]:
        """Returns mean and deviation of each column."""
        deviation_N = np.sqrt(self._squares_N / np.maximum(self._count_N, 1))
        deviation_N = np.where(deviation_N > 0.0, deviation_N, 1.0)
        return {
            name: NumberStatistics(mean=mean, deviation=deviation)
            for name, mean, deviation in zip(
                self._names, self._mean_N.tolist(), deviation_N.tolist(), strict=True
            )
        }


def _count(values: tf.Tensor, counts: Counts) -> None:
    unique = tf.unique_with_counts(values)
    for value, count in zip(unique.y.numpy(), unique.count.numpy().tolist(), strict=True):
        counts[value] += count


def _most_frequent(counts: Counts, limit: int) -> tuple[str, ...]:
    """Returns the most frequent values; those that are equally frequent by their bytes."""
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    return tuple(value.decode() for value in ranked[:limit])
