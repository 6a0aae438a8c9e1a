"""The manifest: what an ingested dataset holds, shard by shard, as JSON beside the shards."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from components.ingest.errors import DataError

MANIFEST_FILE = "manifest.json"
FORMAT_VERSION = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
    """One TFRecord file."""

    path: str  # Relative to the dataset's folder.
    num_rows: int
    num_bytes: int
    sha256: str
    span: int  # The number of its span in the manifest, from 0.


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
    """Files of the source that were written together; they are not read again while they stay."""

    files: tuple[str, ...]  # Their names within the source.
    num_rows: int
    num_rejects: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Split:
    """The shards of one split and the rows per class, in the order of the recipe's class names."""

    shards: tuple[Shard, ...]
    class_counts: dict[str, int]

    @property
    def num_rows(self) -> int:
        """Rows over all shards."""
        return sum(shard.num_rows for shard in self.shards)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manifest:
    """An ingested dataset.

    `digest` is over the shards' own digests: equal bytes give an equal one, whatever their origin.
    """

    origin: str  # In words, such as "Debian package dataset-fashion-mnist".
    splits: dict[str, Split]
    spans: tuple[Span, ...]

    @property
    def num_rejects(self) -> int:
        """Rows that could not be used."""
        return sum(span.num_rejects for span in self.spans)

    @property
    def digest(self) -> str:
        """SHA-256 over the names and digests of all shards, in hex."""
        lines = [f"{shard.path} {shard.sha256}\n" for shard in self.shards()]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def shards(self) -> list[Shard]:
        """All shards, split by split."""
        return [shard for split in self.splits.values() for shard in split.shards]

    def to_json(self) -> str:
        """Returns the text of the manifest file."""
        values = {
            "format_version": FORMAT_VERSION,
            "digest": self.digest,
            "origin": self.origin,
            "num_rejects": self.num_rejects,
            "spans": [dataclasses.asdict(span) for span in self.spans],
            "splits": {name: _split_values(split) for name, split in self.splits.items()},
        }
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def read(cls, dataset_dir: Path) -> "Manifest":
        """Reads the manifest of the dataset in `dataset_dir`.

        Raises:
            FileNotFoundError: If there is none.
            DataError: If another version of Kerasline wrote it, or it is damaged.
        """
        path = dataset_dir / MANIFEST_FILE
        try:
            values = json.loads(path.read_text())
            version = values["format_version"]
            if version == FORMAT_VERSION:
                splits = {name: _read_split(split) for name, split in values["splits"].items()}
                spans = tuple(_read_span(span) for span in values["spans"])
                return cls(origin=values["origin"], splits=splits, spans=spans)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"Expected {path} to be the manifest of a dataset. Received: a damaged file. "
                f"Remove the folder {dataset_dir}, and run again."
            ) from error
        raise DataError(
            f"Expected a dataset of format {FORMAT_VERSION} in {dataset_dir}. Received: format "
            f"{version}, which another version of Kerasline wrote. Run the recipe again, which "
            "reads the data anew."
        )


def _split_values(split: Split) -> dict[str, Any]:
    return {"num_rows": split.num_rows, **dataclasses.asdict(split)}


def _read_span(values: dict[str, Any]) -> Span:
    return Span(**{**values, "files": tuple(values["files"])})


def _read_split(values: dict[str, Any]) -> Split:
    shards = tuple(Shard(**shard) for shard in values["shards"])
    return Split(shards=shards, class_counts=values["class_counts"])
