"""What every source gives: blocks of rows, small enough to hold, that any process can expand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow

from components.ingest.example import Value
from components.ingest.sources.files import SourceFile


class Row(NamedTuple):
    """One example."""

    key: str  # Where it came from: unique and stable, such as "train/00012" or "cats/7.png".
    # The input, and the target if there is one, by their names in the tf.Example.
    features: Mapping[str, Value]
    label: int | str | None  # Class index, class name, or None if numbers are predicted.
    content: bytes  # What makes two rows equal; the split is a hash of it unless there is a group.
    look: bytes = b""  # What shows that two rows are alike, from `components.ingest.fingerprint`.
    group: bytes | None = None  # Rows with the same one share a split.
    time: int | None = None  # When the row is from, in seconds since 1970 UTC.
    # The whole tf.Example if a reader of columns has made it, with the label's index.
    example: bytes | None = None


class Reject(NamedTuple):
    """One row that cannot be used, and why."""

    key: str
    reason: str


class ColumnRows(NamedTuple):
    """Some columns of a block, where each of their rows came from, and the rows that are none."""

    arrays: Mapping[str, pyarrow.Array]
    keys: list[str]
    rejects: list[Reject]


class Block(Protocol):
    """Some rows of one split of the source; it is sent to a worker, which expands it."""

    @property
    def split(self) -> str:
        """The split the source gives these rows: "train", "validation" or "test"."""

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows in order."""


class ColumnBlock(Block, Protocol):
    """A block of a file of columns."""

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns of the rows that can be read."""


class Source(Protocol):
    """A dataset that is on this machine."""

    @property
    def origin(self) -> str:
        """Where the data is from, in words."""

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits that the source itself has; "train" is always one."""

    @property
    def num_bytes(self) -> int:
        """About how much the examples take when written, for choosing the number of shards."""

    def files(self) -> Mapping[str, Path | SourceFile]:
        """The files that hold all its bytes, in an order that does not change.

        Their names are relative to the source, so that they are the same on every machine.
        """

    def blocks(self) -> Iterator[Block]:
        """Yields the blocks in an order that does not change."""


class TimedSource(Source, Protocol):
    """A source of rows that can be divided by time."""

    def times(self) -> Iterator[np.ndarray]:
        """Yields the times of all rows of the train split in int64 seconds, block by block."""
