"""Columns of a table as the numbers, names and times that examples hold.

A value that cannot be used is noted with the reason instead of stopping the others. Legend: N rows.
"""

import dataclasses
import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from components.ingest.config import DataConfig
from components.ingest.errors import DataError, nearest
from components.ingest.sources.base import ColumnBlock

# What people write into a table where a number is missing, in lower case.
MISSING_NUMBERS = ("", "na", "n/a", "nan", "null", "none")
# Times above this are in milliseconds, or in a finer unit still: as seconds, they would lie beyond
# the year 5000.
_MAX_SECONDS = 100_000_000_000

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_ELEMENT = re.compile(r"(?s)(.*)\[(\d+)\]")
_MAX_FLOAT32 = float(np.finfo(np.float32).max)


class Problems(dict[int, str]):
    """Why a row cannot be used, by its number in the block; the first reason stays."""

    def add(self, rows: np.ndarray, reason: str, values: Sequence[Any] = ()) -> None:
        """Notes a reason, in which `{}` stands for the row's own value."""
        for row in rows.tolist():
            shown = repr(values[row])[:80] if len(values) else ""
            self.setdefault(row, reason.format(shown))


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A column of numbers; the ones that are missing are 0 in `values_N`."""

    values_N: np.ndarray  # float32
    present_N: np.ndarray  # bool


def used_columns(data: DataConfig) -> tuple[str, ...]:
    """Returns the names of all columns that a recipe reads, each once."""
    names: list[str] = []
    if data.table:
        names += data.table.columns
    elif data.series:
        series = data.series
        names += [series.time, series.value, *series.covariates]
        names += [series.series] if series.series else []
    else:
        names.append(data.input.source_name)  # type: ignore[union-attr]
    if data.label:
        names.append(data.label.source_name)
    if data.target:
        names.append(data.target.source_name)
    if data.splits.key:
        names.append(data.splits.key)
    return tuple(dict.fromkeys(names))


def list_columns(data: DataConfig) -> set[str]:
    """Returns the names of those columns of which each row holds a list."""
    return set(data.table.sequences()) if data.table else set()


def check_columns(data: DataConfig, found: Sequence[str], *, where: str, hint: str = "") -> None:
    """Checks that a file has each column that the recipe reads, once.

    Raises:
        DataError: If it does not.
    """
    for name in used_columns(data):
        if name not in found:
            raise DataError(
                f'Expected a column "{name}" in {where}, as the recipe says. '
                f"Received: {', '.join(map(str, found))[:500]}.{hint or nearest(name, found)}"
            )
        if list(found).count(name) > 1:
            raise DataError(
                f'Expected one column "{name}" in {where}. Received: {list(found).count(name)} of '
                "that name. Rename all but one."
            )


def element(name: str) -> tuple[str, int] | None:
    """Returns what a column's name says if it stands for one element of each row's list or vector.

    >>> element("x[12]")
    ('x', 12)
    >>> element("x")
    """
    found = _ELEMENT.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def with_elements(data: DataConfig, found: Iterable[str]) -> list[str]:
    """Returns the names that a file has, and the elements of them that a recipe asks for."""
    names = list(found)
    asked = ((name, element(name)) for name in used_columns(data))
    return names + [name for name, part in asked if part and part[0] in names]


def block_times(blocks: Iterable[ColumnBlock], name: str) -> Iterator[np.ndarray]:
    """Yields the times in a column of the train split, in seconds, block by block."""
    for block in blocks:
        if block.split == "train":
            problems = Problems()
            times_N = seconds(name, block.read([name]).arrays[name], problems)
            yield np.delete(times_N, list(problems))


def numbers(name: str, array: pyarrow.Array, problems: Problems) -> Numbers:
    """Reads a column of numbers; an empty value, NaN, NA, null and none are missing ones."""
    array = plain(name, array, problems)
    if _is_text(array):
        array = _parse_numbers(name, array, problems)
    elif pyarrow.types.is_temporal(array.type):
        array = pyarrow.array(seconds(name, array, problems).astype(np.float64))
    else:
        array = array.cast(pyarrow.float64(), safe=False)
    values_N = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    infinite_N = np.abs(values_N) > _MAX_FLOAT32
    if infinite_N.any():
        reason = f"its {name} is {{}}, which is infinite or beyond 32-bit floats"
        problems.add(np.flatnonzero(infinite_N), reason, values_N.tolist())
    present_N = ~(np.isnan(values_N) | infinite_N)
    return Numbers(np.where(present_N, values_N, 0.0).astype(np.float32), present_N)


def _parse_numbers(name: str, array: pyarrow.Array, problems: Problems) -> pyarrow.Array:
    compute = pyarrow.compute
    trimmed = compute.ascii_trim_whitespace(array)
    missing = compute.is_in(
        compute.ascii_lower(trimmed), value_set=pyarrow.array(MISSING_NUMBERS, array.type)
    )
    filled = compute.if_else(missing, pyarrow.scalar(None, array.type), trimmed)
    try:
        return filled.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        fits = compute.match_substring_regex(filled, _NUMBER)
    bad_N = compute.invert(fits).fill_null(False).to_numpy(zero_copy_only=False)
    problems.add(
        np.flatnonzero(bad_N), f"its {name} is {{}}, which is no number", array.to_pylist()
    )
    return compute.if_else(fits, filled, pyarrow.scalar(None, array.type)).cast(pyarrow.float64())


def names(name: str, array: pyarrow.Array, problems: Problems) -> pyarrow.DictionaryArray:
    """Reads a column of names as codes of distinct ones; an empty name is a missing one."""
    found = texts(name, array, problems)
    is_empty = pyarrow.compute.equal(found, pyarrow.scalar("", found.type))
    return pyarrow.compute.if_else(
        is_empty, pyarrow.scalar(None, found.type), found
    ).dictionary_encode()


def texts(name: str, array: pyarrow.Array, problems: Problems) -> pyarrow.Array:
    """Reads a column as texts, null where there is none."""
    array = plain(name, array, problems)
    return array if _is_text(array) else array.cast(pyarrow.string())


def contents(array: pyarrow.Array) -> list[bytes | None]:
    """Reads a column of files' contents, or of structures that have them under "bytes".

    Raises:
        DataError: If it holds something else.
    """
    if pyarrow.types.is_struct(array.type) and array.type.get_field_index("bytes") >= 0:
        array = array.field("bytes")
    kinds = pyarrow.types
    if not (kinds.is_binary(array.type) or kinds.is_large_binary(array.type)):
        raise DataError(
            "Expected the column of files to hold their bytes, or structures with a field "
            f'"bytes". Received: {array.type}. Correct its source_name, or name a folder of files.'
        )
    return array.to_pylist()


def seconds(name: str, array: pyarrow.Array, problems: Problems) -> np.ndarray:
    """Reads a column of times as int64 seconds since 1970 UTC; one that is missing is a problem.

    Times are Arrow's, ISO 8601 texts (UTC unless they say otherwise), or numbers: seconds, or
    milliseconds, microseconds or nanoseconds if they are too large for that.
    """
    array = plain(name, array, problems)
    if pyarrow.types.is_timestamp(array.type) or pyarrow.types.is_date(array.type):
        times = array.cast(pyarrow.timestamp("us"), safe=False).cast(pyarrow.int64())
        missing_N = times.is_null().to_numpy(zero_copy_only=False)
        values_N = times.fill_null(0).to_numpy(zero_copy_only=False) // 1_000_000
    else:
        if _is_text(array):
            array = _parse_times(array) if not _are_numbers(array) else array
        floats_N = array.cast(pyarrow.float64(), safe=False).fill_null(np.nan).to_numpy(False)
        missing_N = ~np.isfinite(floats_N)
        values_N = _whole_seconds(np.where(missing_N, 0.0, floats_N))
    if missing_N.any():
        problems.add(np.flatnonzero(missing_N), f"its {name} is no time in ISO 8601 or in seconds")
    return values_N


def _are_numbers(array: pyarrow.Array) -> bool:
    return bool(pyarrow.compute.all(pyarrow.compute.match_substring_regex(array, _NUMBER)).as_py())


def _whole_seconds(times_N: np.ndarray) -> np.ndarray:
    for _ in range(3):
        times_N = np.where(np.abs(times_N) > _MAX_SECONDS, times_N / 1000, times_N)
    return np.floor(times_N).astype(np.int64)


def _parse_times(array: pyarrow.Array) -> pyarrow.Array:
    """Returns seconds as floats, null where a text is no time; the quick ways come first."""
    for kind in (pyarrow.timestamp("us"), pyarrow.timestamp("us", "UTC")):
        try:
            times = array.cast(kind).cast(pyarrow.int64()).cast(pyarrow.float64())
            return pyarrow.compute.divide(times, 1e6)
        except pyarrow.ArrowInvalid:
            continue
    return pyarrow.array([_parse_time(text) for text in array.to_pylist()], pyarrow.float64())


def _parse_time(text: str | None) -> float | None:
    try:
        time = datetime.datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).timestamp()


def _is_text(array: pyarrow.Array) -> bool:
    kinds = pyarrow.types
    return kinds.is_string(array.type) or kinds.is_large_string(array.type)


def plain(name: str, array: pyarrow.Array, problems: Problems) -> pyarrow.Array:
    """Undoes dictionaries and turns bytes into text; bytes that are no UTF-8 are a problem.

    Raises:
        DataError: If the column holds lists or structures.
    """
    kinds = pyarrow.types
    if kinds.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kinds.is_binary(array.type) or kinds.is_large_binary(array.type):
        return _decode(name, array, problems)
    if kinds.is_nested(array.type):
        raise DataError(
            f'Expected the column "{name}" to hold one value a row. Received: {array.type}. '
            "Leave the column out of the recipe, or take its values apart."
        )
    return array


def _decode(name: str, array: pyarrow.Array, problems: Problems) -> pyarrow.Array:
    try:
        return array.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        values = array.to_pylist()
    for row, value in enumerate(values):
        try:
            values[row] = value and value.decode()
        except UnicodeDecodeError:
            reason = f"its {name} is {{}}, which is not UTF-8: name its encoding in data.source"
            problems.add(np.array([row]), reason, values)
            values[row] = None
    return pyarrow.array(values, pyarrow.string())
