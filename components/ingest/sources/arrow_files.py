"""Parquet, Arrow and Feather files, read as a stream of record batches."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import assemble, columns, files
from components.ingest.sources.base import ColumnRows, Reject, Row
from components.ingest.sources.config import ParquetSource

_BLOCK_ROWS = 4096
_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"


@dataclasses.dataclass(frozen=True)
class ColumnsBlock:
    """Columns of some rows; these are numbered from `first_row` within the file, 0 at first."""

    split: str
    name: str
    first_row: int
    columns: dict[str, pyarrow.Array]
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows."""
        return assemble.block_rows(self.data, self.read)

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some of the columns."""
        count = len(next(iter(self.columns.values())))
        keys = [f"{self.name}:{self.first_row + index}" for index in range(count)]
        return ColumnRows({name: self.columns[name] for name in names}, keys, [])


def read_blocks(
    split: str, file: files.SourceFile, source: ParquetSource, data: DataConfig
) -> Iterator[ColumnsBlock]:
    """Yields the blocks of one file.

    Raises:
        DataError: If it cannot be read, has another format, or lacks a column of the recipe.
    """
    names = columns.used_columns(data)
    first = 0
    with reading(file) as raw:
        found, batches = open_batches(file, raw, names)
        columns.check_columns(data, found, where=file.uri)
        for batch in batches:
            for start in range(0, batch.num_rows, _BLOCK_ROWS):
                part = batch.slice(start, _BLOCK_ROWS)
                yield ColumnsBlock(
                    split, file.name, first, {name: _own(part.column(name)) for name in names}, data
                )
                first += part.num_rows


def _own(array: pyarrow.Array) -> pyarrow.Array:
    """Returns a copy of a slice, which would carry all of its batch when it is sent."""
    return pyarrow.concat_arrays([array]) if array.offset == 0 else array.take(_indices(array))


def _indices(array: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.array(range(len(array)))


@contextlib.contextmanager
def reading(file: files.SourceFile) -> Iterator[Any]:
    """Opens a file at random, and turns what pyarrow says of a bad one into a sentence.

    Raises:
        DataError: If the block raised an error of Arrow or of the operating system.
    """
    try:
        with file.open_random() as raw:
            yield raw
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(
            f"Expected {file.uri} to be a whole Parquet, Arrow or Feather file, but: {error}. "
            "Write it again, or take it out of data.source."
        ) from error


def open_batches(
    file: files.SourceFile, raw: Any, names: Sequence[str] | None
) -> tuple[list[str], Iterator[pyarrow.RecordBatch]]:
    """Returns the names of all columns, and the batches of those that are asked for.

    Args:
        file: The file, for messages.
        raw: The same, opened at random.
        names: The columns; None for all of them.

    Raises:
        DataError: If the file has another format.
    """
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(_PARQUET):
        parquet = pyarrow.parquet.ParquetFile(raw, pre_buffer=False)
        return parquet.schema_arrow.names, parquet.iter_batches(
            _BLOCK_ROWS, columns=names, use_threads=False
        )
    if start.startswith(_ARROW_FILE):
        reader = pyarrow.ipc.open_file(raw)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        return reader.schema.names, batches
    if start.startswith(_ARROW_STREAM):
        stream = pyarrow.ipc.open_stream(raw)
        return stream.schema.names, iter(stream)
    raise DataError(
        f"Expected {file.uri} to be a Parquet, Arrow or Feather file. "
        f"Received: one that begins with {start!r}. Correct data.source.kind."
    )
