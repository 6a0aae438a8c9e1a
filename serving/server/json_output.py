"""Arrays and results to REST response bodies, byte for byte as TF Serving's documentation shows."""

import base64
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import orjson
from tensorflow_serving.apis import classification_pb2, regression_pb2

from serving.server import errors

_INDENT = "    "
# Of fewer numbers it is quicker to write each twice than to sift them.
_MIN_SIFTED_VALUES = 64


def error_body(message: str) -> bytes:
    """Returns the body of an error.

    >>> error_body('no "x"')
    b'{ "error": "no \\\\"x\\\\"" }'
    """
    return f'{{ "error": {json.dumps(message, ensure_ascii=False)} }}'.encode(errors="replace")


def predictions(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Returns the answer in row format: one item for each row of the outputs.

    Args:
        outputs: Arrays by name, whose first dimension is the same. A single one is not named.

    Raises:
        ServingError: INVALID_ARGUMENT if an output has no batch dimension or another size.
    """
    num_rows = _check_rows(outputs)
    return split_predictions(outputs, [num_rows])[0]


def split_predictions(
    outputs: Mapping[str, np.ndarray], nums_rows: Sequence[int] | None
) -> list[bytes]:
    """Returns the answers to several requests in row format, formatting all numbers at once.

    Args:
        outputs: As of `predictions`: the rows of all requests.
        nums_rows: How many of the rows belong to each request, in order; None: one has them all.

    Raises:
        ServingError: As `predictions`.
    """
    if nums_rows is None:
        return [predictions(outputs)]
    if len(outputs) == 1:
        ((name, array),) = outputs.items()
        rows, start, separator, end = _row_lines(name, array), "[", ", ", "]"
    else:
        rows, start, separator, end = _row_objects(outputs), "[\n", ",\n", f"\n{_INDENT}]"
    answers, first = [], 0
    for num_rows in nums_rows:
        body = separator.join(rows[first : first + num_rows])
        answers.append(f'{{\n{_INDENT}"predictions": {start}{body}{end}\n}}'.encode())
        first += num_rows
    return answers


def outputs_object(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Returns the answer in columnar format: whole tensors; a single one is not named."""
    if len(outputs) == 1:
        ((name, array),) = outputs.items()
        return f'{{\n{_INDENT}"outputs": {_many_lines(name, array, 1)}\n}}'.encode()
    items = ",\n".join(
        f"{_INDENT * 2}{_key(name)}: {_many_lines(name, array, 2)}"
        for name, array in sorted(outputs.items())
    )
    return f'{{\n{_INDENT}"outputs": {{\n{items}\n{_INDENT}}}\n}}'.encode()


def classifications(result: classification_pb2.ClassificationResult) -> bytes:
    """Returns the answer to classify: for each example, its pairs of label and score."""
    lines = []
    for one in result.classifications:
        scores = _format_floats(np.array([each.score for each in one.classes], np.float32))
        pairs = (
            f"[{json.dumps(each.label, ensure_ascii=False)}, {score}]"
            for each, score in zip(one.classes, scores, strict=True)
        )
        lines.append(f"[{', '.join(pairs)}]")
    return f'{{\n{_INDENT}"results": [{", ".join(lines)}]\n}}'.encode()


def regressions(result: regression_pb2.RegressionResult) -> bytes:
    """Returns the answer to regress: one number for each example."""
    values = np.array([each.value for each in result.regressions], np.float32)
    return f'{{\n{_INDENT}"results": [{", ".join(_format_floats(values))}]\n}}'.encode()


def format_float(value: np.floating) -> str:
    """Returns a float as TF Serving writes it: six digits if they are exact, else all of them.

    >>> [format_float(np.float32(x)) for x in (2.5, 3, 0.1, 1 / 3, 9e6, -0.0, np.nan, -np.inf)]
    ['2.5', '3.0', '0.1', '0.333333343', '9e+06', '-0.0', 'NaN', '-Infinity']
    """
    return _format_floats(np.array([value]))[0]


@functools.lru_cache(maxsize=1_024)
def _key(name: str) -> str:
    return json.dumps(name)


def _check_rows(outputs: Mapping[str, np.ndarray]) -> int:
    """Returns the number of rows that all outputs have; raises ServingError if they differ."""
    num_rows = None
    for name, array in sorted(outputs.items()):
        if array.ndim == 0:
            raise errors.invalid(f"Tensor name: {name} has no shape information ")
        if num_rows is not None and len(array) != num_rows:
            raise errors.invalid(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} "
                f"expecting: {num_rows}"
            )
        num_rows = len(array)
    return num_rows or 0


def _row_objects(outputs: Mapping[str, np.ndarray]) -> list[str]:
    """Returns each row as an object, one line for each output."""
    keys = [_key(name) for name in sorted(outputs)]
    lines = ",\n".join([f"{_INDENT * 3}{key.replace('%', '%%')}: %s" for key in keys])
    template = f"{_INDENT * 2}{{\n{lines}\n{_INDENT * 2}}}"
    columns = [_row_lines(name, array) for name, array in sorted(outputs.items())]
    return [template % texts for texts in zip(*columns, strict=True)]


def _row_lines(name: str, array: np.ndarray) -> list[str]:
    """Returns each row on one line; all numbers are formatted at once."""
    leaves = _format_leaves(name, array)
    if array.ndim == 1:
        return leaves
    size = len(leaves) // max(len(array), 1)
    return [
        _nest(leaves[row * size : (row + 1) * size], array.shape[1:], _wrap_one_line)
        for row in range(len(array))
    ]


def _wrap_one_line(items: list[str], level: int) -> str:
    return f"[{', '.join(items)}]"


def _many_lines(name: str, array: np.ndarray, depth: int) -> str:
    def wrap(items: list[str], level: int) -> str:
        if not items:
            return "[]"
        inner, outer = _INDENT * (depth + level + 1), _INDENT * (depth + level)
        return "[\n" + ",\n".join(inner + item for item in items) + f"\n{outer}]"

    leaves = _format_leaves(name, array, indent=_INDENT * (depth + array.ndim))
    return _nest(leaves, array.shape, wrap)


def _nest(leaves: list[str], shape: tuple[int, ...], wrap: Callable[[list[str], int], str]) -> str:
    """Wraps the flat leaves into lists, the innermost dimension first."""
    items = leaves
    for level in range(len(shape) - 1, -1, -1):
        size = shape[level]
        if level == 0:
            return wrap(items, 0)
        count = math.prod(shape[:level])
        items = [wrap(items[i * size : (i + 1) * size], level) for i in range(count)]
    return items[0]


def _format_leaves(name: str, array: np.ndarray, indent: str = "") -> list[str]:
    kind = array.dtype.kind
    if kind == "f":
        return _format_floats(array.ravel())
    if kind in "iu":
        return list(map(str, array.ravel().tolist()))
    if kind == "b":
        return ["true" if value else "false" for value in array.ravel().tolist()]
    if kind == "O":
        write = _base64_writer(indent) if name.endswith("_bytes") else _write_text
        return [write(value) for value in array.ravel().tolist()]
    raise errors.invalid(f"Failed to write JSON value for tensor type: {array.dtype.name}")


def _base64_writer(indent: str) -> Callable[[bytes], str]:
    def write(value: bytes) -> str:
        text = base64.b64encode(value).decode()
        if not indent:
            return f'{{ "b64": "{text}" }}'
        return f'{{\n{indent}{_INDENT}"b64": "{text}"\n{indent}}}'

    return write


def _write_text(value: bytes) -> str:
    # As json.dumps with ensure_ascii=False, in a seventh of its time.
    return orjson.dumps(value.decode(errors="replace")).decode()


def _format_floats(values: np.ndarray) -> list[str]:
    numbers = values.tolist()
    digits = 9 if values.dtype.itemsize <= 4 else 17
    texts = (f"%.{digits}g " * len(numbers) % tuple(numbers)).split()
    # Six digits are kept only where they read back as the same value.
    indices = _perhaps_short(values)
    short = ("%.6g " * len(indices) % tuple([numbers[index] for index in indices])).split()
    exact = np.array(list(map(float, short)), values.dtype) == values[indices]
    for index, text, is_exact in zip(indices, short, exact.tolist(), strict=True):
        if is_exact:
            texts[index] = text
    return [text if "." in text or "e" in text else _finish(text) for text in texts]


def _perhaps_short(values: np.ndarray) -> list[int]:
    """Returns where six digits may do: there, and nowhere else, it is worth to write them."""
    if len(values) < _MIN_SIFTED_VALUES:
        return list(range(len(values)))
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        scale = 10.0 ** (5 - np.floor(np.log10(np.abs(wide))))
        rounded = np.rint(wide * scale) / scale
        # A NaN, such as of 0 or of infinity, is not greater, and is looked at.
        is_long = np.abs(rounded - wide) > 2.0 * np.spacing(np.abs(values))
    return np.flatnonzero(~is_long).tolist()


def _finish(text: str) -> str:
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return special.get(text) or text + ".0"
