"""The dataset as the guard sees it: the fingerprints of all rows, read piece by piece.

Rows are numbered through: those of training first, then validation's, then test's, each in the
order of the shards.

Legend: N rows of the dataset, R some of them.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from components.ingest import example, fingerprint, manifest, tfrecord

SPLITS = ("train", "validation", "test")

_CHUNK_ROWS = 8192
_THINGS = {
    "image": "image",
    "text": "text",
    "audio": "recording",
    "table": "row",
    "series": "window",
}


class Chunk(NamedTuple):
    """Consecutive rows of one shard."""

    first_row: int
    starts_shard: bool
    rows_R: np.ndarray  # Fingerprints, in the dtype of the layout.

    @property
    def numbers(self) -> np.ndarray:
        """The rows' numbers, int64."""
        return np.arange(self.first_row, self.first_row + len(self.rows_R))


class Shard(NamedTuple):
    """One shard: its records, their fingerprints, and where it is among all rows."""

    records: Path
    fingerprints: Path
    split: str
    first_row: int
    num_rows: int


@dataclasses.dataclass(frozen=True)
class Dataset:
    """All rows of a dataset; nothing of them is held in memory."""

    layout: fingerprint.Layout
    shards: tuple[Shard, ...]
    counts: dict[str, tuple[int, ...]]  # Of each split, rows of each class.

    @classmethod
    def open(cls, folder: Path) -> "Dataset":
        """Opens an ingested dataset.

        Raises:
            FileNotFoundError: If `folder` holds no dataset, or one without fingerprints.
        """
        splits = manifest.Manifest.read(folder).splits
        shards, first_row = [], 0
        for name in SPLITS:
            for number, shard in enumerate(splits[name].shards):
                notes = folder / fingerprint.FOLDER / f"{name}-{number:05d}"
                shards.append(Shard(folder / shard.path, notes, name, first_row, shard.num_rows))
                first_row += shard.num_rows
        counts = {name: tuple(splits[name].class_counts.values()) for name in SPLITS}
        return cls(fingerprint.Layout.read(folder), tuple(shards), counts)

    @property
    def num_rows(self) -> int:
        """Rows over all splits."""
        return sum(shard.num_rows for shard in self.shards)

    @property
    def thing(self) -> str:
        """What a row is, in one word."""
        return _THINGS[self.layout.input_name]

    def count(self, split: str) -> int:
        """Returns how many rows a split has."""
        return sum(shard.num_rows for shard in self.shards if shard.split == split)

    def num_train(self) -> int:
        """Returns how many rows training has; they are the first ones."""
        return self.count("train")

    def split_codes(self, numbers_R: np.ndarray) -> np.ndarray:
        """Returns of each row the index of its split in SPLITS."""
        ends = np.cumsum([self.count(split) for split in SPLITS])
        return np.searchsorted(ends, numbers_R, side="right")

    def chunks(self, split: str | None = None) -> Iterator[Chunk]:
        """Yields the rows of a split, or of all, in order."""
        for shard in self.shards:
            if split in (None, shard.split):
                for start in range(0, shard.num_rows, _CHUNK_ROWS):
                    rows_R = fingerprint.read_fingerprints(
                        shard.fingerprints, self.layout, start=start, count=_CHUNK_ROWS
                    )
                    yield Chunk(shard.first_row + start, start == 0, rows_R)

    def take(self, numbers_R: np.ndarray) -> np.ndarray:
        """Returns the fingerprints of rows by their numbers, which may come in any order."""
        found_R = np.empty(len(numbers_R), self.layout.dtype)
        starts = np.array([shard.first_row for shard in self.shards])
        shards_R = np.searchsorted(starts, numbers_R, side="right") - 1
        for index in np.unique(shards_R):
            shard, chosen = self.shards[index], np.flatnonzero(shards_R == index)
            all_rows = np.memmap(shard.fingerprints, self.layout.dtype, "r")
            found_R[chosen] = all_rows[numbers_R[chosen] - shard.first_row]
        return found_R

    def sample(self, split: str, max_rows: int) -> np.ndarray:
        """Returns the fingerprints of at most `max_rows` rows of a split, evenly spread."""
        step = max(1, -(-self.count(split) // max_rows))
        kept, seen = [np.empty(0, self.layout.dtype)], 0
        for chunk in self.chunks(split):
            # A view would keep the whole chunk.
            kept.append(chunk.rows_R[-seen % step :: step].copy())
            seen += len(chunk.rows_R)
        return np.concatenate(kept)

    def key(self, number: int) -> str:
        """Returns where a row came from, such as "train/00000012" or "cat/1.png"."""
        return self.record(number)["key"][0].decode()  # type: ignore[union-attr]

    def keys(self, *numbers: int) -> tuple[str, ...]:
        """Returns where rows came from."""
        return tuple(self.key(int(number)) for number in numbers)

    def record(self, number: int) -> dict[str, list[bytes] | list[int] | list[float]]:
        """Returns a row's features, as lists by name."""
        for shard in self.shards:
            if number < shard.first_row + shard.num_rows:
                message = tfrecord.read_record(shard.records, number - shard.first_row)
                return example.decode_example(message)
        raise IndexError(number)

    def records(self, split: str, max_rows: int) -> Iterator[dict[str, Any]]:
        """Yields the features of about `max_rows` rows of a split, evenly spread."""
        step = max(1, -(-self.count(split) // max_rows))
        for shard in self.shards:
            if shard.split == split:
                for message in tfrecord.read_records(shard.records, step=step):
                    yield example.decode_example(message)

    def class_counts(self, split: str) -> np.ndarray:
        """Returns how many rows of a split each class has, in the order of the class names."""
        return np.array(self.counts[split], np.int64)
