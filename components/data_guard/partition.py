"""Brings equal keys together without holding all rows: records go to files by their key's hash."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

# What one part holds in memory, about; sorting takes some times as much.
_PART_BYTES = 8 << 20
_MAX_PARTS = 512
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def partition(chunks: Iterable[np.ndarray], *, num_bytes: int) -> Iterator[np.ndarray]:
    """Yields records such that those with the same key come in the same part.

    Within a part they keep their order. Temporary files hold what memory should not.

    Args:
        chunks: Structured arrays of one dtype with a field "key" of uint64.
        num_bytes: About how much all of them take.
    """
    num_parts = min(_MAX_PARTS, 1 + num_bytes // _PART_BYTES)
    if num_parts == 1:
        kept = list(chunks)
        if kept:
            yield np.concatenate(kept)
        return
    with tempfile.TemporaryDirectory(prefix="data_guard_") as folder:
        dtype = None
        for chunk in chunks:
            dtype = chunk.dtype
            _append(chunk, Path(folder), num_parts)
        for path in sorted(Path(folder).iterdir()):
            yield np.fromfile(path, dtype)
            path.unlink()


def _append(chunk: np.ndarray, folder: Path, num_parts: int) -> None:
    parts = ((chunk["key"] * _GOLDEN) >> np.uint64(40)) % np.uint64(num_parts)
    order = np.argsort(parts, kind="stable")
    ends = np.cumsum(np.bincount(parts.astype(np.int64), minlength=num_parts))
    for part, records in enumerate(np.split(chunk[order], ends[:-1])):
        if len(records):
            with (folder / f"{part:05d}").open("ab") as file:
                file.write(records.tobytes())


def runs(keys_R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorts keys; returns the order, and of each place in it where its run of equal keys begins.

    >>> order, starts = runs(np.array([7, 5, 7], np.uint64))
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [0, 1, 1])
    """
    order = np.argsort(keys_R, kind="stable")
    sorted_R = keys_R[order]
    is_new = np.append(True, sorted_R[1:] != sorted_R[:-1])[: len(keys_R)]
    return order, np.maximum.accumulate(np.where(is_new, np.arange(len(keys_R)), 0))
