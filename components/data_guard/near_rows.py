"""Nearly equal rows of a table: the same names, and numbers that are the same after rounding.

Numbers are the same if they differ by at most TOLERANCE of their column's standard deviation.

Legend: R rows, P pairs, N columns of numbers.
"""

import numpy as np

from components.data_guard import near_looks, neighbours
from components.data_guard.dataset import Dataset

TOLERANCE = 0.01

_SAMPLE_ROWS = 10_000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Beyond these many deviations numbers are not told apart while looking for neighbours.
_LIMIT = 100.0


def find_near_rows(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of rows that nearly equal each other.

    Args:
        dataset: All rows.
        is_repeat_N: bool (N,): Rows that are left out, since an earlier one stands for them.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    if not dataset.layout.numbers:
        return np.empty((0, 2), np.int64)
    sample = dataset.sample("train", _SAMPLE_ROWS)["numbers"].astype(np.float64)
    known = np.isfinite(sample)
    counts = np.maximum(1, known.sum(0))
    means = np.where(known, sample, 0).sum(0) / counts
    squares = np.where(known, (sample - means) ** 2, 0).sum(0) / counts
    scales = np.sqrt(squares)
    mix = _mix(len(means))
    with neighbours.Points() as points:
        for chunk in dataset.chunks():
            kept = ~is_repeat_N[chunk.numbers]
            points.add(_points(chunk.rows_R[kept], chunk.numbers[kept], means, scales, mix))
        pairs_P2 = points.close_pairs(TOLERANCE * len(means) ** 0.5)
    return near_looks.confirm(dataset, pairs_P2, lambda left, right: _is_near(left, right, scales))


def _mix(num_columns: int) -> np.ndarray:
    """Returns a matrix (N, DIMENSIONS) that shortens distances, or keeps them if it can."""
    if num_columns <= neighbours.DIMENSIONS:
        return np.eye(num_columns, neighbours.DIMENSIONS, dtype=np.float32)
    normal = np.random.default_rng(0).standard_normal((num_columns, neighbours.DIMENSIONS))
    # Orthonormal columns: a projection.
    return np.linalg.qr(normal)[0].astype(np.float32)


def _points(
    rows_R: np.ndarray,
    numbers_R: np.ndarray,
    means: np.ndarray,
    scales: np.ndarray,
    mix: np.ndarray,
) -> np.ndarray:
    found = np.zeros(len(rows_R), neighbours.POINT)
    found["row"] = numbers_R
    values = (rows_R["numbers"] - means) / np.where(scales > 0, scales, 1)
    is_missing = ~np.isfinite(values)
    place = np.where(is_missing, 0, values).clip(-_LIMIT, _LIMIT).astype(np.float32)
    found["place"] = place @ mix
    fixed = [*rows_R["categories"].T, *is_missing.T.astype(np.uint64)]
    for values_R in fixed:
        found["fixed"] = (found["fixed"] ^ values_R) * _FACTOR
    return found


def _is_near(left: np.ndarray, right: np.ndarray, scales: np.ndarray) -> np.ndarray:
    is_missing = np.isnan(left["numbers"]), np.isnan(right["numbers"])
    differences = np.abs(left["numbers"].astype(np.float64) - right["numbers"])
    is_close = (differences <= TOLERANCE * scales) | (is_missing[0] & is_missing[1])
    return is_close.all(1) & (left["categories"] == right["categories"]).all(1)
