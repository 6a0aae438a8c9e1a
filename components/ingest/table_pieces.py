"""A file of rows, piece by piece, as columns, before there is a recipe that says what it holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow

from components.ingest import array_survey
from components.ingest.errors import DataError
from components.ingest.sources import (
    arrow_files,
    columns,
    csv_files,
    csv_records,
    files,
    jsonl_files,
)

_DELIMITERS = ",;\t|"


class Pieces(NamedTuple):
    """A file that was opened.

    Attributes:
        source_kind: csv, parquet, jsonl, tfrecord or numpy.
        delimiter: What divides the values of a CSV file; "," for all others.
        columns: Of each piece, some rows, its columns by their names.
    """

    source_kind: str
    delimiter: str
    columns: Iterator[dict[str, pyarrow.Array]]


def open_pieces(file: files.SourceFile) -> Pieces:
    """Opens a CSV, Parquet, Arrow, JSON lines, TFRecord or NumPy file.

    Raises:
        DataError: If it is none of these, or, as its pieces are read, if that is not possible.
    """
    suffix = Path(file.name.removesuffix(".gz")).suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        return _open_csv(file)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return Pieces("jsonl", ",", _json_pieces(file))
    if suffix in (".parquet", ".arrow", ".feather"):
        return Pieces("parquet", ",", _arrow_pieces(file))
    if suffix in (".npy", ".npz"):
        return Pieces("numpy", ",", array_survey.numpy_pieces(file))
    # TFRecord files have no usual ending: "data.tfrecord-00000-of-00004" is one too.
    if array_survey.is_tfrecord(file):
        return Pieces("tfrecord", ",", array_survey.tfrecord_pieces(file))
    raise DataError(
        "Expected a folder, a TFRecord file, or a file whose name ends with .csv, .tsv, .jsonl, "
        f".parquet, .arrow, .feather, .npy or .npz. Received: {file.name}. Rename it, or write the "
        "recipe by hand."
    )


def _open_csv(file: files.SourceFile) -> Pieces:
    first_line = next(files.chunks(file, 1 << 16), b"").split(b"\n")[0].decode(errors="replace")
    delimiter = max(_DELIMITERS, key=first_line.count)
    return Pieces("csv", delimiter, _csv_pieces(file, delimiter))


def _csv_pieces(file: files.SourceFile, delimiter: str) -> Iterator[dict[str, pyarrow.Array]]:
    header: tuple[str, ...] | None = None
    for records in csv_records.read_records(file, delimiter=delimiter, encoding="utf-8"):
        if header is None:
            header, records = csv_files.take_header(file, records, delimiter)
        if records.data.strip():
            block = csv_files.CsvRecords(
                name=file.name, header=header, delimiter=delimiter, records=records
            )
            rows = block.read(header)
            problems = columns.Problems()
            yield {
                name: columns.plain(name, array, problems) for name, array in rows.arrays.items()
            }


def _json_pieces(file: files.SourceFile) -> Iterator[dict[str, pyarrow.Array]]:
    for lines in jsonl_files.whole_lines(file):
        objects, _ = jsonl_files.parse_lines(lines, name=file.name, first_line=1)
        names = list(dict.fromkeys(name for value in objects.values() for name in value))
        yield jsonl_files.to_arrays(list(objects.values()), names)


def _arrow_pieces(file: files.SourceFile) -> Iterator[dict[str, pyarrow.Array]]:
    with arrow_files.reading(file) as raw:
        names, batches = arrow_files.open_batches(file, raw, None)
        for batch in batches:
            yield dict(zip(names, batch.columns, strict=True))
