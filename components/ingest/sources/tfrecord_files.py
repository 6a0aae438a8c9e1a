"""TFRecord files of tf.Examples, plain or gzip-compressed, parsed without TensorFlow."""

import dataclasses
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow

from components.ingest import example, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError
from components.ingest.sources import assemble, columns, files
from components.ingest.sources.base import ColumnRows, Reject, Row
from components.ingest.sources.config import TfrecordSource

_BLOCK_BYTES = 1 << 18
_SHOWN_VALUES = 4


@dataclasses.dataclass(frozen=True)
class RecordsBlock:
    """Records with their checksums, numbered from `first_record` within the file, 0 at first."""

    split: str
    name: str
    first_record: int
    bodies: list[bytes]
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows, then the records that are no usable tf.Examples."""
        return assemble.block_rows(self.data, self.read)

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns; a record is rejected if it is damaged, or has lists for values."""
        return read_columns(self, names, lists=columns.list_columns(self.data) & set(names))


def read_columns(
    block: RecordsBlock, names: Sequence[str], *, lists: Collection[str] = ()
) -> ColumnRows:
    """Returns columns of a block of records.

    A feature of one value is a column of its name, an element of a list one of "name[index]"; a
    feature or an element that an example does not have is a missing value.

    Args:
        block: The records.
        names: The columns.
        lists: Those of them that are kept as lists.
    """
    places = {name: columns.element(name) for name in names}
    keys, rows, rejects = [], [], []
    for number, body in enumerate(block.bodies, start=block.first_record):
        key = f"{block.name}:{number}"
        try:
            features = parse(body)
            rows.append(
                [
                    features.get(name) if name in lists else _value(features, name, places[name])
                    for name in names
                ]
            )
            keys.append(key)
        except RowError as error:
            rejects.append(Reject(key, str(error)))
    values = zip(*rows, strict=True) if rows else [() for _ in names]
    arrays = {name: to_array(found) for name, found in zip(names, values, strict=True)}
    return ColumnRows(arrays, keys, rejects)


def parse(body: bytes) -> dict[str, list[Any]]:
    """Returns the features of one record.

    Raises:
        RowError: If it is damaged, or no tf.Example.
    """
    data = tfrecord.checked_data(body)
    if data is None:
        raise RowError("the record is damaged: its checksum is wrong")
    try:
        return example.decode_example(data)
    except ValueError as error:
        raise RowError("the record is not a tf.Example") from error


def _value(
    features: Mapping[str, Sequence[Any]], name: str, place: tuple[str, int] | None
) -> Any | None:
    if name in features or place is None:
        values = features.get(name, ())
        if len(values) > 1:
            shown = ", ".join(str(value)[:20] for value in values[:_SHOWN_VALUES])
            raise RowError(
                f"its {name} has {len(values)} values ({shown}...) instead of one: name them one "
                f'by one, such as "{name}[0]"'
            )
        return values[0] if values else None
    base, index = place
    values = features.get(base, ())
    return values[index] if index < len(values) else None


def to_array(values: Sequence[Any]) -> pyarrow.Array:
    """Returns a column; one whose values are of several kinds becomes one of byte strings."""
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, TypeError):
        texts = [
            value if value is None or isinstance(value, bytes) else str(value).encode()
            for value in values
        ]
        return pyarrow.array(texts, pyarrow.binary())


def read_blocks(
    split: str, file: files.SourceFile, source: TfrecordSource, data: DataConfig
) -> Iterator[RecordsBlock]:
    """Yields the blocks of one file.

    Raises:
        DataError: If it cannot be read, is truncated or no TFRecord file, or its first records lack
            a feature of the recipe.
    """
    first = 0
    for bodies in record_batches(file):
        if first == 0:
            _check_names(bodies, file, data)
        yield RecordsBlock(split, file.name, first, bodies, data)
        first += len(bodies)
    if first == 0:
        raise DataError(
            f"Expected records in {file.uri}. Received: an empty file. Take it out of data.source."
        )


def record_batches(file: files.SourceFile) -> Iterator[list[bytes]]:
    """Yields the records of a file with their checksums, about 256 KiB at a time.

    Raises:
        DataError: If it cannot be read, is truncated, or no TFRecord file.
    """
    _check_start(file)
    batch: list[bytes] = []
    size = 0
    try:
        with file.open_stream() as stream:
            for body in tfrecord.read_bodies(stream, file.uri):
                batch.append(body)
                size += len(body)
                if size >= _BLOCK_BYTES:
                    yield batch
                    batch, size = [], 0
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"Expected to read {file.uri} to its end, but: {error}. Fetch the file again."
        ) from error
    if batch:
        yield batch


def _check_start(file: files.SourceFile) -> None:
    """Tells a file of another kind from a damaged one."""
    start = next(files.chunks(file, tfrecord.HEADER_BYTES), b"")
    if start and not tfrecord.is_header(start):
        raise DataError(
            f"Expected {file.uri} to be a TFRecord file, plain or compressed with GZIP. "
            f"Received: one that begins with {start!r}. Correct data.source.kind, or, if it is "
            "compressed with ZLIB or its beginning is damaged, write it again."
        )


def _check_names(bodies: Sequence[bytes], file: files.SourceFile, data: DataConfig) -> None:
    found: dict[str, None] = {}
    for body in bodies:
        try:
            found.update(dict.fromkeys(parse(body)))
        except RowError:
            # It is told with its number when the block is expanded.
            continue
    if found:
        names = columns.with_elements(data, found)
        columns.check_columns(data, names, where=f"the first records of {file.uri}")
