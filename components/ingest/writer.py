"""Writing rows into shards: checks each row, chooses its split, counts classes and rejects."""

import collections
import dataclasses
from collections.abc import Iterable
from pathlib import Path

from components.ingest import example, fingerprint, labels, splits, tfrecord
from components.ingest.errors import RejectsError, RowError
from components.ingest.example import Value
from components.ingest.features.config import (
    GROUP_FEATURE,
    KEY_FEATURE,
    LABEL_FEATURE,
    TIME_FEATURE,
)
from components.ingest.sources.base import Block, Reject, Row

FINGERPRINTS_SUFFIX = ".fingerprints"


@dataclasses.dataclass(frozen=True, kw_only=True)
class WritePlan:
    """What a worker must know to write its shards."""

    folder: Path
    class_names: tuple[str, ...]  # Empty if numbers are predicted.
    layout: fingerprint.Layout
    rule: splits.SplitRule
    num_shards: int
    max_rejects: int | None  # None: the share is checked when the number of rows is known.


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrittenShard:
    """One shard as its worker left it; shards are numbered when all are done."""

    split: str
    index: int
    path: Path
    num_rows: int
    num_bytes: int
    sha256: str
    class_counts: dict[int, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WriteResult:
    """Everything one worker wrote."""

    shards: list[WrittenShard]
    rejects: list[Reject]


class ShardWriter:
    """Writes the blocks of some shards; a block goes to its number modulo the shards' number."""

    def __init__(self, plan: WritePlan):
        self._plan = plan
        self._classes = {name: index for index, name in enumerate(plan.class_names)}
        self._shards: dict[tuple[str, int], _OpenShard] = {}
        self._rejects: list[Reject] = []

    def write(self, number: int, block: Block) -> int:
        """Writes one block and returns how many rows it held, rejects included.

        Raises:
            RejectsError: If more rows are rejected than the recipe allows.
        """
        num_rows = 0
        for row in block.rows():
            num_rows += 1
            reject = row if isinstance(row, Reject) else self._write_row(number, block.split, row)
            if reject is not None:
                self._reject(reject)
        return num_rows

    def _write_row(self, number: int, given_split: str, row: Row) -> Reject | None:
        plan = self._plan
        try:
            label = None if row.label is None else labels.class_index(row.label, self._classes)
        except RowError as error:
            return Reject(row.key, str(error))
        split = given_split
        if split == splits.TRAIN:
            identity = row.content if row.group is None else row.group
            split = plan.rule.assign(identity, row.time)
        self._shard(split, number % plan.num_shards).write(row, label)
        return None

    def _shard(self, split: str, index: int) -> "_OpenShard":
        shard = self._shards.get((split, index))
        if shard is None:
            shard = _OpenShard(self._plan.folder / f"{split}-{index:05d}", self._plan.layout)
            self._shards[split, index] = shard
        return shard

    def _reject(self, reject: Reject) -> None:
        self._rejects.append(reject)
        limit = self._plan.max_rejects
        if limit is not None and len(self._rejects) > limit:
            raise RejectsError(rejects_sentence(self._rejects, limit=str(limit)))

    def close(self) -> WriteResult:
        """Closes the files and returns what was written."""
        shards = [shard.close(split, index) for (split, index), shard in self._shards.items()]
        return WriteResult(shards=shards, rejects=self._rejects)


class _OpenShard:
    """A shard that is being written, its fingerprints, and its count of each class."""

    def __init__(self, path: Path, layout: fingerprint.Layout):
        self._records = tfrecord.RecordWriter(path)
        self._fingerprints = fingerprint.FingerprintWriter(
            path.with_suffix(FINGERPRINTS_SUFFIX), layout
        )
        self._counts: collections.Counter[int] = collections.Counter()

    def write(self, row: Row, label: int | None) -> None:
        self._records.write(row.example or example.encode_example(_features(row, label)))
        self._fingerprints.add(row if row.label == label else row._replace(label=label))
        if label is not None:
            self._counts[label] += 1

    def close(self, split: str, index: int) -> WrittenShard:
        self._records.close()
        self._fingerprints.close()
        return WrittenShard(
            split=split,
            index=index,
            path=self._records.path,
            num_rows=self._records.num_records,
            num_bytes=self._records.num_bytes,
            sha256=self._records.sha256,
            class_counts=dict(self._counts),
        )


def _features(row: Row, label: int | None) -> dict[str, Value]:
    features = {**row.features, KEY_FEATURE: row.key.encode()}
    if label is not None:
        features[LABEL_FEATURE] = label
    if row.group is not None:
        features[GROUP_FEATURE] = row.group
    if row.time is not None:
        features[TIME_FEATURE] = row.time
    return features


def rejects_sentence(rejects: Iterable[Reject], *, limit: str) -> str:
    """Returns the sentence that stops an ingest for its bad rows, with the first three of them."""
    rejects = list(rejects)
    shown = "; ".join(f"{reject.key}: {reject.reason}" for reject in rejects[:3])
    return (
        f"Expected at most {limit} rows that cannot be used. "
        f"Received: {len(rejects)} so far ({shown}). "
        "Mend or remove them, or allow a share of them with data.rejects.max_share."
    )
