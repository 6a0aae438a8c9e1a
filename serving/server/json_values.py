"""JSON values to arrays, with TF Serving's rules for each dtype and its error texts."""

import array as typed_array
import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tensorflow.core.framework import types_pb2

from serving.server import errors, signature

# Recursion stops here; numpy has 64 dimensions at most, and no model needs as many.
_MAX_DEPTH = 32
_MAX_SHOWN_CHARACTERS = 300

_FLOAT_DTYPES = {types_pb2.DT_FLOAT: np.float32, types_pb2.DT_DOUBLE: np.float64}
_INTEGER_DTYPES = {
    types_pb2.DT_INT8: np.int8,
    types_pb2.DT_INT16: np.int16,
    types_pb2.DT_INT32: np.int32,
    types_pb2.DT_INT64: np.int64,
    types_pb2.DT_UINT8: np.uint8,
    types_pb2.DT_UINT16: np.uint16,
    types_pb2.DT_UINT32: np.uint32,
    types_pb2.DT_UINT64: np.uint64,
}
# Whole numbers up to here are exact in the dtype.
_MAX_EXACT = {types_pb2.DT_FLOAT: 2**24 - 1, types_pb2.DT_DOUBLE: 2**53 - 1}


def to_array(value: Any, info: signature.TensorInfo, has_literals: bool) -> np.ndarray:
    """Converts one tensor.

    Args:
        value: A value or nested lists.
        info: The input.
        has_literals: Whether there may be `true` or `false` in it; if not, a fast path is safe.

    Raises:
        ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for a dtype that JSON cannot carry.
    """
    array = None if has_literals else convert_numbers(value, info)
    return _convert_checked(value, info) if array is None else array


def convert_flat(numbers: list[int | float], info: signature.TensorInfo) -> np.ndarray | None:
    """Converts a vector as `convert_numbers` does, in half its time where the dtype is a float."""
    limit = _MAX_EXACT.get(info.dtype_number)
    if limit is None:
        return convert_numbers(numbers, info)
    try:
        # Whole numbers of one byte, such as pixels, are the commonest and take a quarter of the
        # time.
        return np.frombuffer(bytes(numbers), np.uint8).astype(info.dtype)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    vector = np.frombuffer(typed_array.array("d", numbers), np.float64)
    # Larger numbers lose digits here, and are refused or looked at one by one there.
    if np.abs(vector).max() <= limit:
        return vector.astype(info.dtype)
    return None


def convert_numbers(value: Any, info: signature.TensorInfo) -> np.ndarray | None:
    """Converts numbers in one numpy call; None where only a look at each value can tell.

    Args:
        value: A number or nested lists, without `true` and `false`, which numpy takes for numbers.
        info: The input.
    """
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        return None
    if array.ndim > _MAX_DEPTH:
        return None
    if info.dtype_number in _INTEGER_DTYPES and array.dtype.kind in "iu":
        bounds = np.iinfo(info.dtype)
        if array.size and bounds.min <= array.min() and array.max() <= bounds.max:
            return array.astype(info.dtype, copy=False)
    elif info.dtype_number in _FLOAT_DTYPES and array.dtype.kind in "iuf" and array.size:
        # A larger value may be a whole number that the dtype does not hold exactly. A NaN among the
        # values makes the comparison false, which is the careful side.
        limit = _MAX_EXACT[info.dtype_number]
        if -limit <= array.min() and array.max() <= limit:
            return array.astype(info.dtype, copy=False)
    return None


def _convert_checked(value: Any, info: signature.TensorInfo) -> np.ndarray:
    shape = _shape_of(value)
    leaves: list[Any] = []
    _collect(value, 0, shape, info, leaves)
    is_string = info.dtype_number == types_pb2.DT_STRING
    array = np.empty(len(leaves), object if is_string else info.dtype)
    array[:] = leaves
    return array.reshape(shape)


def _shape_of(value: Any) -> tuple[int, ...]:
    """Follows the first elements down, as TF Serving does; the rest must agree."""
    shape: list[int] = []
    while isinstance(value, list):
        if len(shape) == _MAX_DEPTH:
            raise errors.invalid(f"A tensor must be nested at most {_MAX_DEPTH} lists deep.")
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _collect(
    value: Any, level: int, shape: tuple[int, ...], info: signature.TensorInfo, leaves: list[Any]
) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise errors.invalid(
                f"JSON Value: {show(value)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. "
                f"Expected at level: {len(shape)}"
            )
        leaves.append(_convert_leaf(value, info))
        return
    if level >= len(shape):
        raise errors.invalid(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise errors.invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _collect(item, level + 1, shape, info, leaves)


def _convert_leaf(value: Any, info: signature.TensorInfo) -> Any:
    convert = _LEAF_CONVERTERS.get(info.dtype_number)
    if isinstance(value, dict) and info.dtype_number == types_pb2.DT_STRING:
        return decode_base64(value)
    if convert is None:
        raise errors.ServingError(
            errors.Code.UNIMPLEMENTED,
            f"Conversion of JSON Value: {show(value)} to type: {info.dtype_name}",
        )
    return convert(value, info)


def _leaf_string(value: Any, info: signature.TensorInfo) -> bytes:
    if not isinstance(value, str):
        raise _type_error(value, info)
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise errors.invalid("JSON Parse error: Invalid encoding in string.") from error


def _leaf_bool(value: Any, info: signature.TensorInfo) -> bool:
    if not isinstance(value, bool):
        raise _type_error(value, info)
    return value


def _leaf_integer(value: Any, info: signature.TensorInfo) -> int:
    bounds = np.iinfo(info.dtype)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or not bounds.min <= value <= bounds.max:
        raise _type_error(value, info)
    return value


def _leaf_float(value: Any, info: signature.TensorInfo) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _type_error(value, info)
    if isinstance(value, int):
        is_lossless = abs(value) <= _MAX_EXACT[info.dtype_number]
    else:
        is_lossless = not np.isfinite(value) or abs(value) <= float(np.finfo(info.dtype).max)
    if not is_lossless:
        raise errors.invalid(
            f"Cannot convert JSON value: {show(value)} to {info.dtype_name} without loss of "
            "precision."
        )
    return float(value)


_LEAF_CONVERTERS: Mapping[int, Callable[[Any, signature.TensorInfo], Any]] = {
    **dict.fromkeys(_FLOAT_DTYPES, _leaf_float),
    **dict.fromkeys(_INTEGER_DTYPES, _leaf_integer),
    types_pb2.DT_BOOL: _leaf_bool,
    types_pb2.DT_STRING: _leaf_string,
}


def decode_base64(value: Any) -> bytes:
    """Returns the bytes of `{"b64": "..."}`; missing padding and white space are accepted.

    Raises:
        ServingError: INVALID_ARGUMENT if it is something else.
    """
    if not is_base64(value):
        raise errors.invalid(f"JSON Value: {show(value)} not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise errors.invalid("Unable to base64 decode") from error


def is_base64(value: Any) -> bool:
    """Tells whether a value is an object whose only key is `b64`, with a text."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _type_error(value: Any, info: signature.TensorInfo) -> errors.ServingError:
    names = {
        type(None): "Null",
        dict: "Object",
        list: "Array",
        str: "String",
        int: "Number",
        float: "Number",
    }
    kind = str(value) if isinstance(value, bool) else names[type(value)]
    return errors.invalid(
        f"JSON Value: {show(value)} Type: {kind} is not of expected type: {info.dtype_name}"
    )


def show(value: Any) -> str:
    """Returns the start of a value as JSON, for a message."""
    try:
        text = json.dumps(value, indent=4, ensure_ascii=False)
    except RecursionError:
        return "[...]"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "..."
