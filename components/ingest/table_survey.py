"""A look at a file of rows before there is a recipe: its columns, what they hold, and a period."""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute

from components.ingest import array_survey, image_header
from components.ingest.errors import DataError
from components.ingest.sources import (
    arrow_files,
    columns,
    csv_files,
    csv_records,
    files,
    jsonl_files,
)

MAX_ROWS = 200_000

_DELIMITERS = ",;\t|"
_MAX_CATEGORY_SHARE = 0.5
_MIN_TEXT_CHARS = 25
_MAX_PERIOD_SHARE = 3
_MIN_CORRELATION = 0.2
_NUM_LOOKED_AT = 1000
# Whole numbers in columns of such names are codes: the distance of two of them means nothing.
_CODE = re.compile(
    "area|category|class|code|day|hour|id|kind|month|region|tract|type|weekday|zip|zone"
)
_MAX_CODES = 1000
_TIME = re.compile("at|created|date|datetime|time|timestamp|ts|updated")
# 1973 in seconds; smaller numbers are times of day, or durations.
_MIN_EPOCH_SECONDS = 100_000_000
# Rows of one of these resemble each other more than they do others.
_GROUP = re.compile(
    "account|author|client|customer|device|group|household|machine|member|patient|person|product|"
    "sensor|session|speaker|store|subject|user|vehicle"
)
_MIN_GROUPS = 20
# A series must have some steps, and hardly a gap; a month may be shorter than another.
_MIN_STEPS = 100
_MAX_SERIES = 1000
_MIN_REGULAR_SHARE = 0.95
_STEP_TOLERANCE = 0.1
_MAX_GROUPS_SHARE = 0.9


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnSurvey:
    """What a column holds.

    "number", "category", "text", "time", "image", "constant", "id" if nearly all differ, "other".
    """

    kind: str
    counts: Mapping[str, int]  # Rows of each value, the most frequent first; none is left out.


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableSurvey:
    """The first rows of a file, up to MAX_ROWS."""

    source_kind: str  # csv, parquet, jsonl, tfrecord or numpy.
    delimiter: str
    num_rows: int
    arrays: dict[str, pyarrow.Array]
    columns: dict[str, ColumnSurvey]
    # Whether the file has arrays of a test split beside those of the train split.
    has_test_arrays: bool = False


def survey_table(path: Path) -> TableSurvey:
    """Looks at a CSV, Parquet, Arrow, JSON lines, TFRecord or NumPy file.

    Raises:
        DataError: If it is none of these, cannot be read, or has no rows.
    """
    (file,) = files.list_files([str(path)])
    kind, delimiter, pieces = _pieces(file)
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
    surveys = {name: _survey_column(name, array) for name, array in arrays.items()}
    return TableSurvey(
        source_kind=kind,
        delimiter=delimiter,
        num_rows=num_rows,
        arrays=arrays,
        columns=surveys,
        has_test_arrays=kind == "numpy" and array_survey.has_test_arrays(file),
    )


def _pieces(file: files.SourceFile) -> tuple[str, str, Iterator[dict[str, pyarrow.Array]]]:
    suffixes = Path(file.name.removesuffix(".gz")).suffix.lower()
    if suffixes in (".csv", ".tsv", ".txt"):
        return _csv_pieces(file)
    if suffixes in (".jsonl", ".ndjson", ".json"):
        return "jsonl", ",", _json_pieces(file)
    if suffixes in (".parquet", ".arrow", ".feather"):
        return "parquet", ",", _arrow_pieces(file)
    if suffixes in (".npy", ".npz"):
        return "numpy", ",", array_survey.numpy_pieces(file)
    # TFRecord files have no usual ending: "data.tfrecord-00000-of-00004" is one too.
    if array_survey.is_tfrecord(file):
        return "tfrecord", ",", array_survey.tfrecord_pieces(file)
    raise DataError(
        "Expected a folder, a TFRecord file, or a file whose name ends with .csv, .tsv, .jsonl, "
        f".parquet, .arrow, .feather, .npy or .npz. Received: {file.name}. Rename it, or write the "
        "recipe by hand."
    )


def _csv_pieces(
    file: files.SourceFile,
) -> tuple[str, str, Iterator[dict[str, pyarrow.Array]]]:
    first_line = next(files.chunks(file, 1 << 16), b"").split(b"\n")[0].decode(errors="replace")
    delimiter = max(_DELIMITERS, key=first_line.count)

    def read() -> Iterator[dict[str, pyarrow.Array]]:
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
                    name: columns.plain(name, array, problems)
                    for name, array in rows.arrays.items()
                }

    return "csv", delimiter, read()


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


def _joined(name: str, pieces: list[dict[str, pyarrow.Array]]) -> pyarrow.Array:
    found = [piece[name] for piece in pieces if name in piece]
    kinds = {array.type for array in found}
    if len(kinds) > 1:
        kind = pyarrow.binary() if pyarrow.binary() in kinds else pyarrow.string()
        found = [
            array if array.type == kind else array.cast(pyarrow.string()).cast(kind)
            for array in found
        ]
    return pyarrow.chunked_array(found).combine_chunks()


def _survey_column(name: str, array: pyarrow.Array) -> ColumnSurvey:
    if pyarrow.types.is_nested(array.type) or pyarrow.types.is_null(array.type):
        return ColumnSurvey(kind="other", counts={})
    if pyarrow.types.is_binary(array.type):
        starts = pyarrow.compute.binary_slice(array.drop_null(), 0, image_header.MAGIC_BYTES)
        is_image = any(map(image_header.is_image, starts.to_pylist()))
        return ColumnSurvey(kind="image" if is_image else "other", counts={})
    texts = columns.texts(name, array, columns.Problems())
    texts = texts.filter(pyarrow.compute.not_equal(texts, ""))
    counted = texts.value_counts().to_pylist()
    counts = {item["values"]: item["counts"] for item in counted if item["values"] is not None}
    counts = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return ColumnSurvey(kind=_kind(name, array, counts), counts=counts)


def _kind(name: str, array: pyarrow.Array, counts: Mapping[str, int]) -> str:
    num_rows = sum(counts.values())
    if len(counts) < 2:
        return "constant"
    if pyarrow.types.is_temporal(array.type) or _are_times(name, array):
        return "time"
    is_unlike = len(counts) > _MAX_CATEGORY_SHARE * num_rows
    problems = columns.Problems()
    numbers = columns.numbers(name, array, problems)
    if not problems:
        return _kind_of_numbers(name, numbers.values_N[numbers.present_N], counts)
    if not is_unlike:
        return "category"
    sample = list(itertools.islice(counts, _NUM_LOOKED_AT))
    length = sum(map(len, sample)) / len(sample)
    has_words = sum(" " in text for text in sample) > len(sample) / 2
    return "text" if has_words and length >= _MIN_TEXT_CHARS else "id"


def _kind_of_numbers(name: str, values_N: np.ndarray, counts: Mapping[str, int]) -> str:
    num_rows = len(values_N)
    is_id = name.lower().endswith("id") or name.lower() in ("index", "rownames", "row")
    if is_id and len(counts) == num_rows:
        return "id"
    is_whole = bool((values_N == np.floor(values_N)).all())
    if is_whole and _is_called(_TIME, name) and values_N.min() >= _MIN_EPOCH_SECONDS:
        return "time"
    is_code = is_whole and _is_called(_CODE, name)
    is_few = len(counts) <= min(_MAX_CODES, _MAX_CATEGORY_SHARE * num_rows)
    return "category" if is_code and is_few else "number"


def _are_times(name: str, array: pyarrow.Array) -> bool:
    """Returns whether the first texts are dates or times in ISO 8601."""
    if not (pyarrow.types.is_string(array.type) or pyarrow.types.is_large_string(array.type)):
        return False
    texts = array.drop_null()
    first = texts.filter(pyarrow.compute.not_equal(texts, ""))[:_NUM_LOOKED_AT]
    if not len(first) or not pyarrow.compute.all(_has_date(first)).as_py():
        return False
    problems = columns.Problems()
    columns.seconds(name, first, problems)
    return not problems


def _has_date(texts: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.compute.match_substring_regex(texts, r"^\s*\d{4}-\d{2}-\d{2}")


def _is_called(words: re.Pattern[str], name: str) -> bool:
    """Returns whether a column's name has one of some words.

    >>> _is_called(_TIME, "pickupTime_UTC"), _is_called(_TIME, "timeless")
    (True, False)
    """
    found = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return any(words.fullmatch(word) for word in found)


def find_group_column(survey: TableSurvey) -> str | None:
    """Returns a column, by its name, whose rows belong together, such as those of a customer.

    Its values must repeat, and be so many that each split gets some of them.
    """
    for name, column in survey.columns.items():
        most = _MAX_GROUPS_SHARE * survey.num_rows
        repeats = _MIN_GROUPS <= len(column.counts) <= most
        if column.kind in ("category", "id") and repeats and _is_called(_GROUP, name):
            return name
    return None


def find_time_column(survey: TableSurvey) -> str | None:
    """Returns the first column of times that is present in every row."""
    for name, column in survey.columns.items():
        if column.kind == "time" and sum(column.counts.values()) == survey.num_rows:
            return name
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """A table of regular steps: the column of times, and the one that tells series apart."""

    time: str
    series: str | None


def find_steps(survey: TableSurvey, time: str | None) -> Steps | None:
    """Returns how a table is one series of regular steps, or several; None if it is none.

    Args:
        survey: The table.
        time: The column of times, or None if there is none.
    """
    if time is None or survey.num_rows < _MIN_STEPS:
        return None
    times_N = columns.seconds(time, survey.arrays[time], columns.Problems())
    if _are_regular(times_N, np.zeros(len(times_N), np.int64)):
        return Steps(time=time, series=None)
    for name, column in survey.columns.items():
        if column.kind not in ("category", "id") or len(column.counts) > _MAX_SERIES:
            continue
        codes = columns.names(name, survey.arrays[name], columns.Problems()).indices
        if codes.null_count == 0 and _are_regular(times_N, codes.to_numpy()):
            return Steps(time=time, series=name)
    return None


def _are_regular(times_N: np.ndarray, codes_N: np.ndarray) -> bool:
    """Returns whether nearly all steps of each series are equal, as those of months nearly are."""
    order_N = np.lexsort([times_N, codes_N])
    is_step_N = np.diff(codes_N[order_N]) == 0
    steps_N = np.diff(times_N[order_N])[is_step_N]
    if len(steps_N) < _MIN_STEPS or (steps_N <= 0).any():
        return False
    is_usual_N = np.abs(steps_N / np.median(steps_N) - 1) <= _STEP_TOLERANCE
    return bool(is_usual_N.mean() >= _MIN_REGULAR_SHARE)


def find_period(values_T: np.ndarray) -> int:
    """Returns after how many steps a series resembles itself most, 1 if after none.

    The peak of the autocorrelation of the differences, among lags up to a third of the series.
    """
    step_T = np.diff(values_T.astype(np.float64))
    if len(step_T) < 2 * _MAX_PERIOD_SHARE:
        return 1
    step_T = step_T - step_T.mean()
    spectrum = np.abs(np.fft.rfft(step_T, 2 * len(step_T))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(step_T) // _MAX_PERIOD_SHARE]
    if len(correlation) < 4 or correlation[0] <= 0:
        return 1
    correlation = correlation / correlation[0]
    peaks = np.flatnonzero(
        (correlation[1:-1] > correlation[:-2]) & (correlation[1:-1] >= correlation[2:])
    )
    if not len(peaks):
        return 1
    best = int(peaks[np.argmax(correlation[peaks + 1])]) + 1
    return best if correlation[best] >= _MIN_CORRELATION else 1
