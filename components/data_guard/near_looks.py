"""Pairs of rows whose looks lie close together, whatever the looks are of.

Legend: N rows of the dataset, R some of them, P pairs, D numbers of a look.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from components.data_guard import neighbours
from components.data_guard.dataset import Dataset

_SAMPLE_ROWS = 10_000
_CHUNK_PAIRS = 4096

IsNear = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Look:
    """How rows of a kind are compared.

    Attributes:
        is_usable: From fingerprints (R,) to which of them can be compared, bool (R,).
        vectors: From usable fingerprints (R,) to float32 (R, D), close where rows are near.
        max_distance: Largest Euclidean distance of the vectors of near rows.
        is_near: From the fingerprints of both rows of pairs to which are near, bool (P,).
    """

    is_usable: Callable[[np.ndarray], np.ndarray]
    vectors: Callable[[np.ndarray], np.ndarray]
    max_distance: float
    is_near: IsNear


def find_near_looks(dataset: Dataset, is_repeat_N: np.ndarray, look: Look) -> np.ndarray:
    """Finds pairs of rows that nearly equal each other.

    Args:
        dataset: All rows.
        is_repeat_N: bool (N,): Rows that are left out, since an earlier one stands for them.
        look: How rows are compared.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    with neighbours.Points() as points:
        directions = _main_directions(dataset, look)
        for chunk in dataset.chunks():
            kept = look.is_usable(chunk.rows_R) & ~is_repeat_N[chunk.numbers]
            found = np.zeros(int(kept.sum()), neighbours.POINT)
            found["row"] = chunk.numbers[kept]
            found["place"][:, : directions.shape[1]] = look.vectors(chunk.rows_R[kept]) @ directions
            points.add(found)
        # Projecting shortens distances, so no pair is lost by this limit.
        pairs_P2 = points.close_pairs(look.max_distance)
    return confirm(dataset, pairs_P2, look.is_near)


def confirm(dataset: Dataset, pairs_P2: np.ndarray, is_near: IsNear) -> np.ndarray:
    """Returns those of many pairs of rows that are near, a few thousand at a time."""
    kept = [np.empty(0, bool)]
    for start in range(0, len(pairs_P2), _CHUNK_PAIRS):
        rows_P2 = dataset.take(pairs_P2[start : start + _CHUNK_PAIRS].ravel()).reshape(-1, 2)
        kept.append(is_near(rows_P2[:, 0], rows_P2[:, 1]))
    return pairs_P2[np.concatenate(kept)]


def _main_directions(dataset: Dataset, look: Look) -> np.ndarray:
    """Returns the directions (D, DIMENSIONS or fewer) in which vectors of a sample vary most."""
    sample = np.concatenate([dataset.sample(split, _SAMPLE_ROWS) for split in ("train", "test")])
    vectors = look.vectors(sample[look.is_usable(sample)])
    centred = vectors - vectors.sum(0) / max(1, len(vectors))
    _, directions = np.linalg.eigh(centred.T @ centred)
    return directions[:, -neighbours.DIMENSIONS :]


def flatten(values_R: np.ndarray) -> np.ndarray:
    """Returns each row's values as float32 (R, D), for no rows too.

    >>> flatten(np.zeros((0, 4, 4), np.uint8)).shape
    (0, 16)
    """
    return values_R.reshape(len(values_R), math.prod(values_R.shape[1:])).astype(np.float32)


def unit_vectors(values_RD: np.ndarray) -> np.ndarray:
    """Returns values less their mean, scaled to length 1; none may be constant."""
    vectors_RD = values_RD - values_RD.mean(1, keepdims=True)
    return vectors_RD / np.linalg.norm(vectors_RD, axis=1, keepdims=True)
