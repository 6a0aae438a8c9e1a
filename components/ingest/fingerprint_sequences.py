"""The look of a list of numbers in a row's fingerprint: the means of its parts, and its spread.

They stand among the numbers of the table, so that the data guard looks at them as at other columns.
Two lists with equal means of parts and equal spreads are nearly equal: piecewise aggregate
approximation, Keogh et al. 2001, https://doi.org/10.1007/PL00011669.

Legend: N rows, S steps, C channels, P parts.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from components.ingest.features.config import SequenceColumn

_MAX_PARTS = 8
# Over all channels.
_MAX_MEANS = 32


def look_names(name: str, column: SequenceColumn) -> tuple[str, ...]:
    """Returns the names of the numbers that stand for a column of lists.

    >>> look_names("x", SequenceColumn(kind="sequence", length=2))
    ('x (mean of steps 1 to 1)', 'x (mean of steps 2 to 2)', 'x (spread)')
    """
    starts = [*_starts(column).tolist(), column.length]
    names = [f"mean of steps {first + 1} to {last}" for first, last in itertools.pairwise(starts)]
    channels = (
        [f", channel {channel + 1}" for channel in range(column.channels)]
        if column.channels > 1
        else [""]
    )
    return tuple(f"{name} ({each}{channel})" for each in [*names, "spread"] for channel in channels)


def looks(rows: Sequence[np.ndarray], column: SequenceColumn) -> np.ndarray:
    """Returns the numbers that `look_names` names, float32 (N, P); NaN where all are missing.

    Args:
        rows: The numbers of each row, float32 (S * C,), NaN where one is missing.
        column: What the recipe says of them.
    """
    values_NSC = np.full((len(rows), column.length, column.channels), np.nan)
    for row, numbers in enumerate(rows):
        values_NSC[row, : len(numbers) // column.channels] = numbers.reshape(-1, column.channels)
    is_there = np.isfinite(values_NSC)
    filled = np.where(is_there, values_NSC, 0.0)
    starts = _starts(column)
    counts, sums = (np.add.reduceat(each, starts, axis=1) for each in (is_there * 1.0, filled))
    means_NPC = _divided(sums, counts)
    level_N1C = _divided(filled.sum(1), is_there.sum(1))[:, None]
    squares = np.where(is_there, (values_NSC - level_N1C) ** 2, 0.0).sum(1)
    spread_NC = np.sqrt(_divided(squares, is_there.sum(1)))
    parts = [means_NPC.reshape(len(rows), -1), spread_NC]
    return np.concatenate(parts, axis=1).astype(np.float32)


def content(numbers: np.ndarray) -> bytes:
    """Returns bytes that are equal for lists that a model sees as equal: -0.0 is 0.0."""
    plain = np.where(np.isnan(numbers), np.float32(np.nan), numbers + np.float32(0.0))
    found: bytes = plain.astype("<f4").tobytes()
    return found


def _starts(column: SequenceColumn) -> np.ndarray:
    num_parts = min(column.length, _MAX_PARTS, max(1, _MAX_MEANS // column.channels))
    return np.arange(num_parts) * column.length // num_parts


def _divided(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
