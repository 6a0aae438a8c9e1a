"""Nearly equal texts: copies of each other but for some words, case, spaces and punctuation.

Two texts are nearly equal if at least MIN_SIMILARITY of the numbers of their MinHash signatures
are equal, which estimates the share of pairs of neighbouring words that they have in common. A
signature is read as bands of four numbers; texts of a similarity s share one of 16 bands with a
probability of 1 - (1 - s^4)^16: 99.98 % at 0.8.

Legend: P pairs, M hashes.
"""

from collections.abc import Iterator

import numpy as np

from components.data_guard import near_looks, partition
from components.data_guard.dataset import Dataset

MIN_SIMILARITY = 0.7

# Four numbers of 16 bits read as one of 64.
_BAND_NUMBERS = 4
_RECORD = np.dtype([("key", "<u8"), ("row", "<i8")])
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def find_near_texts(dataset: Dataset, is_repeat_N: np.ndarray) -> np.ndarray:
    """Finds pairs of texts that nearly equal each other.

    Each text is compared with the one before it and with the first one among those that share a
    band, so that of many near copies each is found, though not every pair.

    Args:
        dataset: All rows.
        is_repeat_N: bool (N,): Rows that are left out, since an earlier one stands for them.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    num_bands = dataset.layout.dtype["minhash"].shape[0] // _BAND_NUMBERS
    num_bytes = dataset.num_rows * num_bands * _RECORD.itemsize
    found = np.empty((0, 2), np.int64)
    bands = _bands(dataset, is_repeat_N)
    for records in partition.partition(bands, num_bytes=num_bytes):
        near_P2 = near_looks.confirm(dataset, _candidates(records), _is_near)
        found = np.unique(np.concatenate([found, near_P2]), axis=0)
    return found


def _bands(dataset: Dataset, is_repeat_N: np.ndarray) -> Iterator[np.ndarray]:
    for chunk in dataset.chunks():
        kept = (chunk.rows_R["num_words"] > 0) & ~is_repeat_N[chunk.numbers]
        signatures = np.ascontiguousarray(chunk.rows_R["minhash"][kept])
        keys = signatures.view("<u8")
        records = np.empty(keys.shape, _RECORD)
        records["key"] = keys ^ (np.arange(keys.shape[1], dtype=np.uint64) * _GOLDEN)
        records["row"] = chunk.numbers[kept, None]
        yield records.ravel()


def _candidates(records: np.ndarray) -> np.ndarray:
    order, starts = partition.runs(records["key"])
    rows = records["row"][order]
    places = np.flatnonzero(starts < np.arange(len(rows)))
    firsts = np.stack([rows[starts[places]], rows[places]], 1)
    befores = np.stack([rows[places - 1], rows[places]], 1)
    return np.unique(np.concatenate([firsts, befores]), axis=0)


def _is_near(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left["minhash"] == right["minhash"]).mean(1) >= MIN_SIMILARITY
