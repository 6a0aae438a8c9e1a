"""CSV files, parsed by pyarrow in blocks; rows that do not fit are told by file and line."""

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow
import pyarrow.csv

from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import assemble, columns, csv_records, files
from components.ingest.sources.base import ColumnRows, Reject, Row
from components.ingest.sources.config import CsvSource

_OTHER_DELIMITERS = ";\t|,"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsvRecords:
    """Some records of a file."""

    name: str
    header: tuple[str, ...]
    delimiter: str
    records: csv_records.Records

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns as bytes; a row is rejected if it has too many or few values."""
        bad: list[pyarrow.csv.InvalidRow] = []
        numbers = [str(self.header.index(name)) for name in names]
        table = self._parse(numbers, bad)
        pattern = csv_records.quoted_values(self.delimiter)
        lines_R = csv_records.line_offsets(self.records.data, pattern) + self.records.first_line
        if len(lines_R) != table.num_rows + len(bad):
            raise DataError(self._quotes_sentence(int(lines_R[0]), int(lines_R[-1])))
        bad_rows = [row.number - 1 for row in bad]
        rejects = [
            Reject(
                f"{self.name}:{lines_R[row.number - 1]}",
                f"it has {row.actual_columns} values instead of {row.expected_columns}",
            )
            for row in bad
        ]
        arrays = {
            name: table.column(number).combine_chunks()
            for name, number in zip(names, numbers, strict=True)
        }
        keys = [f"{self.name}:{line}" for line in np.delete(lines_R, bad_rows).tolist()]
        return ColumnRows(arrays, keys, rejects)

    def _parse(self, numbers: list[str], bad: list[pyarrow.csv.InvalidRow]) -> pyarrow.Table:
        def note(row: pyarrow.csv.InvalidRow) -> str:
            bad.append(row)
            return "skip"

        return pyarrow.csv.read_csv(
            io.BytesIO(self.records.data),
            read_options=pyarrow.csv.ReadOptions(
                # Columns go by number here, since two that nobody reads may share a name.
                column_names=[str(number) for number in range(len(self.header))],
                use_threads=False,
                block_size=len(self.records.data) + 1,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=numbers,
                column_types=dict.fromkeys(numbers, pyarrow.binary()),
                strings_can_be_null=False,
            ),
        )

    def _quotes_sentence(self, first: int, last: int) -> str:
        return (
            f"Expected the quotes in {self.name}, lines {first} to {last}, to surround whole "
            "values. Received: some that end amid a value. Double the quotes that belong to a "
            "value."
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsvBlock(CsvRecords):
    """Some records of a file, which are parsed where the block is expanded."""

    split: str
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows, then what does not have the right number of values."""
        return assemble.block_rows(self.data, self.read)


def read_blocks(
    split: str, file: files.SourceFile, source: CsvSource, data: DataConfig
) -> Iterator[CsvBlock]:
    """Yields the blocks of one file.

    Raises:
        DataError: If it cannot be read, has no row of names, or lacks a column of the recipe.
    """
    header: tuple[str, ...] | None = None
    for records in csv_records.read_records(
        file, delimiter=source.delimiter, encoding=source.encoding
    ):
        if header is None:
            header, records = take_header(file, records, source.delimiter)
            hint = _delimiter_hint(header, source.delimiter)
            columns.check_columns(data, header, where=file.uri, hint=hint)
        if records.data.strip():
            yield CsvBlock(
                split=split,
                name=file.name,
                header=header,
                delimiter=source.delimiter,
                records=records,
                data=data,
            )
    if header is None:
        raise DataError(
            f"Expected {file.uri} to begin with the names of its columns. Received: an empty "
            "file. Take it out of data.source."
        )


def take_header(
    file: files.SourceFile, records: csv_records.Records, delimiter: str
) -> tuple[tuple[str, ...], csv_records.Records]:
    """Splits the first block of a file into the names of its columns and the records after them.

    Raises:
        DataError: If the names are not in UTF-8.
    """
    try:
        lines = records.data.decode(errors="surrogateescape").splitlines(keepends=True)
        reader = csv.reader(lines, delimiter=delimiter)
        header = next(names for names in reader if names)
        "".join(header).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"Expected the names of the columns in {file.uri} to be in UTF-8. "
            "Received: other bytes. Name the encoding in data.source.encoding, such as latin-1."
        ) from error
    except StopIteration:
        header = []
    size = sum(len(line.encode(errors="surrogateescape")) for line in lines[: reader.line_num])
    first_line = records.first_line + reader.line_num
    return tuple(header), csv_records.Records(first_line, records.data[size:])


def _delimiter_hint(header: Sequence[str], delimiter: str) -> str:
    """Returns a hint for a file whose values are divided by something else."""
    if len(header) != 1:
        return ""
    found = [other for other in _OTHER_DELIMITERS if other in header[0] and other != delimiter]
    return f" Set data.source.delimiter = {json.dumps(found[0])}." if found else ""
