"""Columns of lists of numbers, whatever form the source gives them.

Legend: N rows, S steps, C channels.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow

from components.ingest.errors import DataError, RowError
from components.ingest.features.config import SequenceColumn
from components.ingest.sources import columns

_MAX_FLOAT32 = float(np.finfo(np.float32).max)
_SHOWN_CHARACTERS = 40


def read(
    name: str, array: pyarrow.Array, column: SequenceColumn, problems: columns.Problems
) -> list[np.ndarray]:
    """Reads a column of lists, of lists of lists, or of texts that hold such lists as JSON.

    Args:
        name: The column.
        array: Its N values.
        column: What the recipe says of it.
        problems: Rows that cannot be used are noted here.

    Returns:
        The numbers of each row, float32 (S * C,), step by step, S at most the recipe's length; NaN
        stands for a missing one, and a row without a list has none.

    Raises:
        DataError: If the column holds something else.
    """
    if pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = []
    for row, numbers in enumerate(_rows(name, array, problems)):
        try:
            numbers = numbers() if callable(numbers) else numbers
            found.append(_fitted(name, numbers, column))
        except RowError as error:
            problems.add(np.array([row]), str(error))
            found.append(np.empty(0, np.float32))
    return found


def is_list_of_numbers(array: pyarrow.Array) -> bool:
    """Says whether a column holds lists of numbers, or lists of such lists."""
    lists = _as_lists(array)
    if lists is None:
        return False
    return _are_numbers(lists.values) or _are_inner_numbers(lists.values)


def _are_inner_numbers(array: pyarrow.Array) -> bool:
    steps = _as_lists(array)
    return steps is not None and _are_numbers(steps.values)


def shape(name: str, array: pyarrow.Array) -> SequenceColumn:
    """Returns how a recipe declares a column of lists of numbers, from its values.

    Args:
        name: The column.
        array: Values of it, lists of numbers or of lists of as many numbers each.
    """
    rows = [
        numbers() if callable(numbers) else numbers
        for numbers in _rows(name, array, columns.Problems())
    ]
    channels = max((row.shape[1] for row in rows if row.ndim == 2), default=1)
    lengths = sorted({len(row) for row in rows if len(row)})
    return SequenceColumn(
        kind="sequence",
        length=lengths[-1] if lengths else 1,
        channels=channels,
        any_length=len(lengths) > 1,
    )


def _fitted(name: str, numbers: np.ndarray, column: SequenceColumn) -> np.ndarray:
    """Checks the numbers of one row, float64 (S,) or (S, C), and cuts them to the length."""
    channels, length = column.channels, column.length
    if numbers.ndim == 2 and numbers.shape[1] != channels:
        raise RowError(
            f"its {name} has steps of {numbers.shape[1]} numbers instead of {channels}: correct "
            "the column's channels in data.table.columns"
        )
    num_steps, rest = divmod(numbers.size, channels)
    if rest:
        raise RowError(f"its {name} has {numbers.size} numbers, no whole steps of {channels}")
    if num_steps not in (0, length) and not column.any_length:
        raise RowError(
            f"its {name} has {num_steps} steps instead of {length}: correct the column's length in "
            "data.table.columns, or set any_length = true to have it padded or cut off"
        )
    flat = numbers.ravel()[: length * channels]
    too_large = np.abs(flat) > _MAX_FLOAT32
    if too_large.any():
        value = flat[too_large][0]
        raise RowError(f"its {name} holds {value:g}, which is infinite or beyond 32-bit floats")
    return flat.astype(np.float32)


def _rows(name: str, array: pyarrow.Array, problems: columns.Problems) -> Iterator[Any]:
    """Yields the numbers of each row, or a function that returns them or raises a RowError."""
    kinds = pyarrow.types
    if kinds.is_string(array.type) or kinds.is_large_string(array.type) or _is_bytes(array):
        for text in columns.texts(name, array, problems).to_pylist():
            yield lambda text=text: _parse(name, text)
        return
    if kinds.is_null(array.type):
        yield from (np.empty(0) for _ in range(len(array)))
        return
    lists = _as_lists(array)
    values = lists.values if lists is not None else None
    steps = _as_lists(values) if values is not None else None
    flat = values if steps is None else steps.values
    if lists is None or flat is None or not _are_numbers(flat):
        raise DataError(
            f'Expected the column "{name}" to hold lists of numbers. Received: {array.type}. '
            'Correct its kind in data.table.columns, such as kind = "number".'
        )
    numbers = flat.cast(pyarrow.float64(), safe=False).fill_null(np.nan).to_numpy(False)
    ends = lists.offsets.to_numpy().tolist()
    is_there = lists.is_valid().to_numpy(False)
    step_ends = None if steps is None else steps.offsets.to_numpy()
    for row, (first, last) in enumerate(itertools.pairwise(ends)):
        if not is_there[row]:
            yield np.empty(0)
        elif step_ends is None:
            yield numbers[first:last]
        else:
            yield lambda part=step_ends[first : last + 1]: _joined(name, numbers, part)


def _joined(name: str, numbers: np.ndarray, ends: np.ndarray) -> np.ndarray:
    sizes = np.diff(ends)
    if not len(sizes):
        return np.empty(0)
    if (sizes != sizes[0]).any():
        raise RowError(
            f"its {name} has steps of {sizes.min()} to {sizes.max()} numbers: each step must have "
            "as many"
        )
    return numbers[ends[0] : ends[-1]].reshape(len(sizes), -1)


def _as_lists(array: pyarrow.Array) -> pyarrow.Array | None:
    kinds = pyarrow.types
    if kinds.is_fixed_size_list(array.type):
        return array.cast(pyarrow.list_(array.type.value_type))
    return array if kinds.is_list(array.type) or kinds.is_large_list(array.type) else None


def _are_numbers(array: pyarrow.Array) -> bool:
    kinds = pyarrow.types
    return bool(
        kinds.is_integer(array.type) or kinds.is_floating(array.type) or kinds.is_null(array.type)
    )


def _is_bytes(array: pyarrow.Array) -> bool:
    return pyarrow.types.is_binary(array.type) or pyarrow.types.is_large_binary(array.type)


def _parse(name: str, text: str | None) -> np.ndarray:
    """Returns the numbers of a list in JSON; an empty text is none."""
    if not (text or "").strip():
        return np.empty(0)
    try:
        values = json.loads(str(text))
        is_nested = isinstance(values, list) and any(isinstance(each, list) for each in values)
        steps = values if is_nested else [values]
        plain = [[_number(each) for each in step] for step in steps]
    except (ValueError, TypeError, OverflowError):
        shown = repr(text)[:_SHOWN_CHARACTERS]
        raise RowError(f"its {name} is {shown}, which is no list of numbers") from None
    sizes = {len(step) for step in plain}
    if len(sizes) > 1:
        raise RowError(
            f"its {name} has steps of {min(sizes)} to {max(sizes)} numbers: each step must have as "
            "many"
        )
    return np.array(plain if is_nested else plain[0], np.float64)


def _number(value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)
