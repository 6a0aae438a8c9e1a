"""How far two samples are apart, and whether chance alone would have it so."""

import numpy as np

from components.data_guard.dataset import Dataset
from components.data_guard.findings import NEVER

# Of all tests of one kind together, how often chance alone is taken for a shift.
_LEVEL = 0.01
# https://en.wikipedia.org/wiki/Chi-squared_test asks for it too.
_MIN_EXPECTED = 5


def limit(dataset: Dataset, configured: float) -> float:
    """Returns the limit of a shift: none where the splits go by time or group.

    Later rows and other groups differ by nature, and to show how a model does on them is why one
    splits so.
    """
    return configured if dataset.layout.split_by == "hash" else NEVER


def share_distance(
    first_K: np.ndarray, second_K: np.ndarray, *, num_tests: int
) -> tuple[float, bool]:
    """Compares two counts of the same values.

    Args:
        first_K: How often each value occurs in one sample.
        second_K: The same of another sample.
        num_tests: Comparisons that are made of this kind.

    Returns:
        Half the summed difference of the shares, in [0, 1], and whether it may be chance.

    >>> share_distance(np.array([60, 40]), np.array([600, 400]), num_tests=1)
    (0.0, True)
    """
    sizes = max(1, first_K.sum()), max(1, second_K.sum())
    shares_K = (first_K + second_K) / sum(sizes)
    distance = float(np.abs(first_K / sizes[0] - second_K / sizes[1]).sum() / 2)
    variance_K = shares_K * (1 - shares_K) * (1 / sizes[0] + 1 / sizes[1])
    # The mean of the distance and a bound of its deviation, of normal and independent shares.
    mean = np.sqrt(2 / np.pi * variance_K).sum() / 2
    deviation = np.sqrt((1 - 2 / np.pi) * variance_K.sum())
    return distance, bool(distance <= mean + _deviations(num_tests) * deviation)


def name_distance(first: np.ndarray, second: np.ndarray, *, num_tests: int) -> tuple[float, bool]:
    """Compares two samples of names, or of their hashes, as `share_distance` does their counts.

    Names of which a sample can expect fewer than five count as one, as is usual in such tests.
    """
    values = np.unique(np.concatenate([first, second]))
    if not len(values):
        return 0.0, True
    counts = np.stack(
        [
            np.bincount(np.searchsorted(values, sample), minlength=len(values))
            for sample in (first, second)
        ]
    )
    expected = counts.sum(0) * min(len(first), len(second)) / (len(first) + len(second))
    is_rare = expected < _MIN_EXPECTED
    rare = counts[:, is_rare].sum(1, keepdims=True)
    common = np.concatenate([counts[:, ~is_rare], rare], axis=1)
    return share_distance(common[0], common[1], num_tests=num_tests)


def number_distance(first: np.ndarray, second: np.ndarray, *, num_tests: int) -> tuple[float, bool]:
    """Compares two samples of numbers by the test of Kolmogorov and Smirnov.

    Missing numbers count as one value, lower than all others.

    Returns:
        The largest difference of the distribution functions, in [0, 1], and whether it may be
        chance.
    """
    first, second = (np.sort(np.nan_to_num(values, nan=-np.inf)) for values in (first, second))
    if not len(first) or not len(second):
        return 0.0, True
    values = np.concatenate([first, second])
    left = np.searchsorted(first, values, side="right") / len(first)
    right = np.searchsorted(second, values, side="right") / len(second)
    distance = float(np.abs(left - right).max())
    factor = np.sqrt(np.log(2 * num_tests / _LEVEL) / 2)
    return distance, bool(distance <= factor * np.sqrt(1 / len(first) + 1 / len(second)))


def _deviations(num_tests: int) -> float:
    """Returns a bound of normal deviations that chance exceeds at the level over all tests."""
    return float(np.sqrt(2 * np.log(num_tests / _LEVEL)))
