"""Joins the rows of several requests into one batch of arrays."""

from collections.abc import Sequence

import numpy as np


def join(arrays: Sequence[np.ndarray], num_rows: int) -> np.ndarray:
    """Concatenates rows, padded to the largest inner sizes and to `num_rows`.

    Args:
        arrays: Arrays of one rank, each with its rows first.
        num_rows: Of the result; at least those that there are.

    >>> join([np.ones((1, 2)), np.zeros((1, 3))], 3).tolist()
    [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    inner = tuple(max(sizes) for sizes in zip(*[a.shape[1:] for a in arrays], strict=True))
    joined = np.concatenate([_pad_inner(array, inner) for array in arrays])
    missing = num_rows - len(joined)
    if missing > 0:
        # A real row, so that padding cannot make the graph fail.
        joined = np.concatenate([joined, np.repeat(joined[:1], missing, axis=0)])
    return joined


def _pad_inner(array: np.ndarray, inner: tuple[int, ...]) -> np.ndarray:
    if array.shape[1:] == inner:
        return array
    padded = np.full((len(array), *inner), array.flat[0] if array.size else 0, array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
