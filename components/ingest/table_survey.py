"""A look at a file of rows before there is a recipe: its columns, and what they hold."""

import dataclasses
import re
from pathlib import Path

import pyarrow

from components.ingest import array_survey, column_survey, table_pieces
from components.ingest.errors import DataError
from components.ingest.sources import files

MAX_ROWS = 200_000

# Rows of one of these resemble each other more than they do others.
_GROUP = re.compile(
    "account|author|client|customer|device|group|household|machine|member|patient|person|product|"
    "sensor|session|speaker|store|subject|user|vehicle"
)
_MIN_GROUPS = 20
_MAX_GROUPS_SHARE = 0.9


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableSurvey:
    """The first rows of a file, up to MAX_ROWS."""

    source_kind: str  # csv, parquet, jsonl, tfrecord or numpy.
    delimiter: str
    num_rows: int
    arrays: dict[str, pyarrow.Array]
    columns: dict[str, column_survey.ColumnSurvey]
    # Whether the file has arrays of a test split beside those of the train split.
    has_test_arrays: bool = False


def survey_table(path: Path) -> TableSurvey:
    """Looks at a CSV, Parquet, Arrow, JSON lines, TFRecord or NumPy file.

    Raises:
        DataError: If it is none of these, cannot be read, or has no rows.
    """
    (file,) = files.list_files([str(path)])
    kind, delimiter, pieces = table_pieces.open_pieces(file)
    found, num_rows = [], 0
    for piece in pieces:
        found.append(piece)
        num_rows += len(next(iter(piece.values()))) if piece else 0
        if num_rows >= MAX_ROWS:
            break
    if not num_rows:
        raise DataError(f"Expected rows in {path}. Received: none. Name another file.")
    names = dict.fromkeys(name for piece in found for name in piece)
    arrays = {name: _joined(name, found) for name in names}
    surveys = {name: column_survey.survey_column(name, array) for name, array in arrays.items()}
    return TableSurvey(
        source_kind=kind,
        delimiter=delimiter,
        num_rows=num_rows,
        arrays=arrays,
        columns=surveys,
        has_test_arrays=kind == "numpy" and array_survey.has_test_arrays(file),
    )


def _joined(name: str, pieces: list[dict[str, pyarrow.Array]]) -> pyarrow.Array:
    found = [piece[name] for piece in pieces if name in piece]
    kinds = {array.type for array in found}
    if len(kinds) > 1 and any(map(pyarrow.types.is_nested, kinds)):
        # Lists of whole numbers in one piece, of fractions in another.
        return pyarrow.array([value for array in found for value in array.to_pylist()])
    if len(kinds) > 1:
        kind = pyarrow.binary() if pyarrow.binary() in kinds else pyarrow.string()
        found = [
            array if array.type == kind else array.cast(pyarrow.string()).cast(kind)
            for array in found
        ]
    return pyarrow.chunked_array(found).combine_chunks()


def find_group_column(survey: TableSurvey) -> str | None:
    """Returns a column, by its name, whose rows belong together, such as those of a customer.

    Its values must repeat, and be so many that each split gets some of them.
    """
    for name, column in survey.columns.items():
        most = _MAX_GROUPS_SHARE * survey.num_rows
        repeats = _MIN_GROUPS <= len(column.counts) <= most
        if column.kind in ("category", "id") and repeats and column_survey.is_called(_GROUP, name):
            return name
    return None


def find_time_column(survey: TableSurvey) -> str | None:
    """Returns the first column of times that is present in every row."""
    for name, column in survey.columns.items():
        if column.kind == "time" and sum(column.counts.values()) == survey.num_rows:
            return name
    return None
