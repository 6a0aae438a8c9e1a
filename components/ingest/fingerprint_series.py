"""The look of a window of a series in its fingerprint: its level, its spread and its shape.

Level and spread are the mean and the deviation of each channel's past. The shape is the past less
its level and in units of its spread, in NUM_PLACES random projections: the squared distance of two
shapes is about the mean squared difference of two such pasts, which is 2 - 2 r for a correlation r
(W. B. Johnson, J. Lindenstrauss, https://doi.org/10.1090/conm/026/737400).

Legend: N windows, T steps, C channels, S places.
"""

import functools
from collections.abc import Sequence

import numpy as np

NUM_PLACES = 48


def fields(num_channels: int) -> list[tuple[str, str, tuple[int]]]:
    """Returns the fields of a look, for numpy's dtype."""
    return [
        ("level", "<f8", (num_channels,)),
        ("spread", "<f4", (num_channels,)),
        ("shape", "<f4", (NUM_PLACES,)),
    ]


def window_looks(
    histories: Sequence[Sequence[float]], num_channels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns levels (N, C), spreads (N, C) and shapes (N, NUM_PLACES).

    Missing values are left out, and in a shape they count as the level; a channel without any other
    has the level and the spread NaN.

    Args:
        histories: The pasts, all equally long, the channels of each step after one another.
        num_channels: How many numbers a step has.

    >>> levels, spreads, shapes = window_looks([[1.0, 3.0, 1.0, 3.0]], 1)
    >>> levels.tolist(), spreads.tolist()
    ([[2.0]], [[1.0]])
    """
    pasts_NTC = np.asarray(histories, np.float64).reshape(len(histories), -1, num_channels)
    is_known = np.isfinite(pasts_NTC)
    counts_NC = is_known.sum(1)
    no_value = np.full(counts_NC.shape, np.nan)
    sums_NC = np.where(is_known, pasts_NTC, 0).sum(1)
    levels_NC = np.divide(sums_NC, counts_NC, out=no_value.copy(), where=counts_NC > 0)
    centred = np.where(is_known, pasts_NTC - levels_NC[:, None], 0)
    squares_NC = np.divide((centred**2).sum(1), counts_NC, out=no_value, where=counts_NC > 0)
    spreads_NC = np.sqrt(squares_NC)
    scaled = centred / np.where(spreads_NC > 0, spreads_NC, 1)[:, None]
    shapes_NS = scaled.reshape(len(scaled), -1).astype(np.float32) @ _projection(scaled[0].size)
    return levels_NC, spreads_NC, shapes_NS


@functools.lru_cache(2)
def _projection(num_values: int) -> np.ndarray:
    """A matrix (num_values, NUM_PLACES) that keeps mean squares of values, as sums, on average."""
    signs = np.random.default_rng(0).choice(np.array([-1, 1], np.float32), (num_values, NUM_PLACES))
    return signs / np.float32((num_values * NUM_PLACES) ** 0.5)
