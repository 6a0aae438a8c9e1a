"""A source of files that each hold many rows, whatever their format."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import (
    arrow_files,
    columns,
    csv_files,
    files,
    jsonl_files,
    numpy_files,
    span_patterns,
    tfrecord_files,
)
from components.ingest.sources.base import ColumnBlock
from components.ingest.sources.config import FilesSource, SpanRange
from components.ingest.sources.span_patterns import Span

_READERS: Mapping[str, Any] = {
    "csv": csv_files.read_blocks,
    "parquet": arrow_files.read_blocks,
    "jsonl": jsonl_files.read_blocks,
    "tfrecord": tfrecord_files.read_blocks,
    "numpy": numpy_files.read_blocks,
}
# About how many times its own size the examples of a file take, which name each column again.
_GROWTH = {"csv": 4.0, "parquet": 10.0, "jsonl": 1.5, "tfrecord": 1.0, "numpy": 3.0}
_GZIP_GROWTH = 5.0


@dataclasses.dataclass(frozen=True)
class FileSource:
    """The files of each split, in the order of their names."""

    data: DataConfig
    source: FilesSource
    split_files: dict[str, list[files.SourceFile]]
    # The labels of a split's file, if they lie in a file of their own.
    label_files: Mapping[tuple[str, files.SourceFile], files.SourceFile]

    @property
    def kind(self) -> str:
        """The kind of source, as the recipe has it."""
        return self.source.kind  # type: ignore[attr-defined]

    @property
    def origin(self) -> str:
        """The kind and the names of the files."""
        names = [file.name for found in self.split_files.values() for file in found]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{self.kind} {', '.join(names[:3])}{more}"

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits for which the recipe names files."""
        return frozenset(self.split_files)

    @property
    def num_bytes(self) -> int:
        """About how much the examples take."""
        return round(self.file_bytes * _GROWTH[self.kind])

    @property
    def file_bytes(self) -> int:
        """About how much the files take when they are not compressed."""
        sizes = (
            file.size_bytes() * (_GZIP_GROWTH if file.name.endswith(".gz") else 1.0)
            for found in self.split_files.values()
            for file in found
        )
        return round(sum(sizes))

    def files(self) -> dict[str, Path | files.SourceFile]:
        """The files, split by split."""
        found = {}
        for split, row_files in self.split_files.items():
            for file in row_files:
                found[f"{split}/{file.name}"] = file
                if labels := self.label_files.get((split, file)):
                    found[f"{split}-labels/{labels.name}"] = labels
        return {name: Path(file.uri) if file.is_local else file for name, file in found.items()}

    def blocks(self) -> Iterator[ColumnBlock]:
        """Yields the blocks of all files.

        Raises:
            DataError: If a file cannot be read or lacks a column of the recipe.
        """
        for split, found in self.split_files.items():
            for file in found:
                labels = self.label_files.get((split, file))
                more = () if labels is None else (labels,)
                yield from _READERS[self.kind](split, file, self.source, self.data, *more)

    def times(self) -> Iterator[np.ndarray]:
        """Yields the times of the rows that the recipe divides by time, in seconds."""
        return columns.block_times(self.blocks(), self.data.splits.key or "")


def open_files(source: FilesSource, data: DataConfig) -> FileSource:
    """Finds the files that a recipe names.

    Raises:
        DataError: If a path names none, a file system cannot be reached, no span is chosen or one
            is missing in a split, or there are more or fewer files of labels than of rows.
    """
    found, labels = (
        {split: files.list_files(paths) for split, paths in named.items()}
        for named in (source.split_paths(), source.label_paths())
    )
    if source.spans is not None:
        spans = _choose_spans(source.spans, found["train"])
        found, labels = ({s: _of_spans(s, f, spans) for s, f in n.items()} for n in (found, labels))
    for split, part in labels.items():
        if len(part) != len(found[split]):
            raise DataError(
                f"Expected as many files of labels as of rows in the {split} split. Received: "
                f"{len(found[split])} files of rows and {len(part)} of labels. Correct data.source."
            )
    pairs = {
        (split, file): label_file
        for split, part in labels.items()
        for file, label_file in zip(found[split], part, strict=True)
    }
    return FileSource(data, source, found, pairs)


def _choose_spans(choice: SpanRange, found: list[files.SourceFile]) -> set[Span]:
    versions = span_patterns.newest_versions(file.span for file in found if file.span)
    if chosen := choice.choose(versions):
        return chosen
    raise DataError(
        f"Expected data.source.spans to choose some of the {len(versions)} spans that are there, "
        f"{min(versions)} to {max(versions)}. Received: none of them. Change the spans."
    )


def _of_spans(
    split: str, found: list[files.SourceFile], spans: set[Span]
) -> list[files.SourceFile]:
    """Returns the files of some spans, and those that belong to none, such as fixed test files."""
    kept = [file for file in found if file.span is None or file.span in spans]
    if any(file.span for file in found) and (missing := spans - {file.span for file in kept}):
        number, version = min(missing)
        raise DataError(
            f"Expected each span of the train split in the {split} split too, in the same version. "
            f"Received: no files of span {number}, version {version}. Add them, or choose others."
        )
    return kept
