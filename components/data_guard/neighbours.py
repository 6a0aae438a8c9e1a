"""Pairs of points that lie close together, among more points than memory holds.

Comparing all pairs is out of the question. Points are sorted several times such that close ones
come near each other, by which sides of random planes they are on and by one random direction, and
are compared with the points that follow them.

Legend: R points, D dimensions, P pairs.
"""

import tempfile
from collections.abc import Iterator

import numpy as np

from components.data_guard import partition

DIMENSIONS = 16
POINT = np.dtype([("row", "<i8"), ("fixed", "<u8"), ("place", "<f4", (DIMENSIONS,))])

_SORTED = np.dtype([("key", "<u8"), ("row", "<i8"), ("along", "<f4"), ("place", POINT["place"])])
_ROUNDS = 6
_WINDOW = 12
_CHUNK_POINTS = 1 << 15
_MAX_BITS = 20


class Points:
    """Points in a temporary file; `with Points() as points` removes it at the end."""

    def __init__(self) -> None:
        # It is closed by __exit__.
        self._file = tempfile.TemporaryFile(prefix="data_guard_")  # noqa: SIM115
        self._count = 0
        self._sum, self._squares = np.zeros(DIMENSIONS), np.zeros(DIMENSIONS)

    def __enter__(self) -> "Points":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def add(self, points_R: np.ndarray) -> None:
        """Appends points of the dtype POINT.

        Pairs with different values of "fixed" are not looked for. Fewer dimensions than DIMENSIONS
        are padded with zeros.
        """
        places_RD = points_R["place"].astype(np.float64)
        self._count += len(points_R)
        self._sum += places_RD.sum(0)
        self._squares += (places_RD**2).sum(0)
        self._file.write(points_R.tobytes())

    def close_pairs(self, max_distance: float) -> np.ndarray:
        """Returns the pairs of rows that were found with at most this Euclidean distance.

        Returns:
            int64 array (P, 2) without repetitions, the lower row first, sorted.
        """
        found = [np.empty((0, 2), np.int64)]
        if self._count >= 2:
            generator = np.random.default_rng(0)
            for _ in range(_ROUNDS):
                # Fewer planes than would leave one window of points between them.
                bits = int(np.clip(np.log2(self._count / _WINDOW + 1), 0, _MAX_BITS))
                directions = generator.standard_normal((DIMENSIONS, bits + 1)).astype(np.float32)
                found.append(self._round(directions, max_distance))
        return np.unique(np.concatenate(found), axis=0)

    def _round(self, directions: np.ndarray, max_distance: float) -> np.ndarray:
        num_bytes = self._count * _SORTED.itemsize
        found = [np.empty((0, 2), np.int64)]
        for part in partition.partition(self._bucketed(directions), num_bytes=num_bytes):
            part = part[np.lexsort((part["along"], part["key"]))]
            found += list(_compare(part, max_distance))
        return np.unique(np.concatenate(found), axis=0)

    def _bucketed(self, directions: np.ndarray) -> Iterator[np.ndarray]:
        mean = self._sum / self._count
        deviation = np.sqrt(np.maximum(self._squares / self._count - mean**2, 1e-12))
        weights = np.uint64(1) << np.arange(directions.shape[1] - 1, dtype=np.uint64)
        self._file.seek(0)
        while data := self._file.read(_CHUNK_POINTS * POINT.itemsize):
            points = np.frombuffer(data, POINT)
            whitened = ((points["place"] - mean) / deviation).astype(np.float32)
            projected = whitened @ directions
            records = np.empty(len(points), _SORTED)
            sides = ((projected[:, 1:] > 0) * weights).sum(1, dtype=np.uint64)
            records["key"] = points["fixed"] ^ sides
            records["row"], records["along"] = points["row"], projected[:, 0]
            records["place"] = points["place"]
            yield records


def _compare(part: np.ndarray, max_distance: float) -> Iterator[np.ndarray]:
    """Yields the close pairs among each record and the _WINDOW after it."""
    rows = part["row"].copy()
    places = np.ascontiguousarray(part["place"])
    limit = np.float32(max_distance**2)
    for offset in range(1, min(_WINDOW, len(part) - 1) + 1):
        differences = places[offset:] - places[:-offset]
        squares = np.einsum("rd,rd->r", differences, differences)
        near = np.flatnonzero(squares <= limit)
        yield np.sort(np.stack([rows[near], rows[near + offset]], 1), axis=1)
