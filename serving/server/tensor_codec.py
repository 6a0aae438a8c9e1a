"""TensorProto to numpy and back, faster than TensorFlow's own helpers for the common dtypes.

Decoding 784 bytes takes 3 us against 11 us in `tf.make_ndarray`; encoding 64x1000 floats takes 40
us
against 1,560 us through the repeated field, because packed values are copied as one block.
"""

import math

import numpy as np
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow.python.framework import dtypes

from serving.server import errors, protobuf_wire

# The repeated field of TensorProto that holds the values of a dtype.
_VALUE_FIELDS = {
    types_pb2.DT_FLOAT: "float_val",
    types_pb2.DT_DOUBLE: "double_val",
    types_pb2.DT_INT32: "int_val",
    types_pb2.DT_INT16: "int_val",
    types_pb2.DT_INT8: "int_val",
    types_pb2.DT_UINT8: "int_val",
    types_pb2.DT_UINT16: "int_val",
    types_pb2.DT_INT64: "int64_val",
    types_pb2.DT_UINT32: "uint32_val",
    types_pb2.DT_UINT64: "uint64_val",
    types_pb2.DT_BOOL: "bool_val",
    types_pb2.DT_STRING: "string_val",
    types_pb2.DT_HALF: "half_val",
    types_pb2.DT_BFLOAT16: "half_val",
    types_pb2.DT_COMPLEX64: "scomplex_val",
    types_pb2.DT_COMPLEX128: "dcomplex_val",
}
# TensorFlow's own look-ups take longer than decoding a small tensor.
_NUMPY_DTYPES = {number: dtypes.as_dtype(number).as_numpy_dtype for number in _VALUE_FIELDS}
_NUMBERS = {np.dtype(dtype): number for number, dtype in _NUMPY_DTYPES.items()}
_HALF_DTYPES = (types_pb2.DT_HALF, types_pb2.DT_BFLOAT16)
_COMPLEX_DTYPES = (types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128)
# Fields that a client may pack as raw little-endian values: tag byte (field << 3 | 2).
_PACKED_TAGS = {types_pb2.DT_FLOAT: b"\x2a", types_pb2.DT_DOUBLE: b"\x32"}
# Below this, the repeated field is as fast as a packed block.
_MIN_PACKED_VALUES = 32
_MAX_ELEMENTS = 1 << 31
_MAX_RANK = 64  # numpy's
# A few bytes may claim any shape, because the last value is repeated to fill it.
_MAX_FILLED_ELEMENTS = 1 << 24


def decode(proto: tensor_pb2.TensorProto, *, name: str) -> np.ndarray:
    """Returns the array that a TensorProto holds; strings become an object array of bytes.

    Args:
        proto: A dense tensor, in `tensor_content` or a `*_val` field.
        name: The input's name, for messages.

    Raises:
        ServingError: If the shape, the dtype and the values do not fit each other.
    """
    field = _VALUE_FIELDS.get(proto.dtype)
    if field is None:
        raise errors.invalid(
            f'Input "{name}" has a dtype that cannot be fed. Received: dtype={proto.dtype}.'
        )
    shape = _shape(proto, name)
    if proto.tensor_content:
        return _from_content(proto, shape, name)
    values = _values(proto, field)
    count = math.prod(shape)
    if len(values) == count:
        return values.reshape(shape)
    return _fill(values, count, proto, name).reshape(shape)


def encode(array: np.ndarray, *, as_content: bool) -> tensor_pb2.TensorProto:
    """Returns the TensorProto of an array; see `encode_into`."""
    proto = tensor_pb2.TensorProto()
    encode_into(proto, array, as_content=as_content)
    return proto


def encode_into(proto: tensor_pb2.TensorProto, array: np.ndarray, *, as_content: bool) -> None:
    """Fills an empty TensorProto with an array.

    Args:
        proto: The message, perhaps a part of another.
        array: Any array that a session returns; object arrays hold bytes.
        as_content: Put raw bytes in `tensor_content`, instead of a typed `*_val` field.
    """
    number = datatype_of(array.dtype)
    proto.dtype = number
    # A scalar has a shape too, with no dimension.
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if number == types_pb2.DT_STRING:
        # A string tensor has no raw form that other programs read.
        proto.string_val.extend(array.ravel().tolist())
    elif as_content:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    else:
        _put_values(proto, number, array)


def datatype_of(dtype: np.dtype) -> int:
    """Returns the number of a numpy dtype in TensorFlow's DataType; object is string."""
    number = _NUMBERS.get(dtype)
    return dtypes.as_dtype(dtype).as_datatype_enum if number is None else number


def _shape(proto: tensor_pb2.TensorProto, name: str) -> tuple[int, ...]:
    shape = tuple([dim.size for dim in proto.tensor_shape.dim])
    is_known = not proto.tensor_shape.unknown_rank and len(shape) <= _MAX_RANK
    # Zeros count as one: numpy cannot shape nothing into [2**62, 2**62, 0].
    sizes = shape if 0 not in shape else [size or 1 for size in shape]
    is_small = min(sizes, default=1) > 0 and math.prod(sizes) < _MAX_ELEMENTS
    if not is_known or not is_small:
        raise errors.invalid(
            f'Input "{name}" must have a known shape of fewer than {_MAX_ELEMENTS} elements. '
            f"Received: shape={list(shape)}."
        )
    return shape


def _from_content(proto: tensor_pb2.TensorProto, shape: tuple[int, ...], name: str) -> np.ndarray:
    if proto.dtype == types_pb2.DT_STRING:
        raise errors.invalid(f'Input "{name}" must hold its strings in string_val.')
    dtype = _NUMPY_DTYPES[proto.dtype]
    expected_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if len(proto.tensor_content) != expected_bytes:
        raise errors.invalid(
            f'Input "{name}" of shape {list(shape)} must have {expected_bytes} bytes of '
            f"tensor_content. Received: {len(proto.tensor_content)}."
        )
    return np.frombuffer(proto.tensor_content, dtype).reshape(shape)


def _values(proto: tensor_pb2.TensorProto, field: str) -> np.ndarray:
    values = getattr(proto, field)
    dtype = _NUMPY_DTYPES[proto.dtype]
    if proto.dtype == types_pb2.DT_STRING:
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if proto.dtype in _HALF_DTYPES:
        return np.array(values, np.int64).astype(np.uint16).view(dtype)
    if proto.dtype in _COMPLEX_DTYPES:
        part = np.float32 if proto.dtype == types_pb2.DT_COMPLEX64 else np.float64
        return np.array(values, part).view(dtype)
    # Narrow integers travel as int32; out of range values wrap, as they do in TensorFlow.
    wide = {"int_val": np.int64}.get(field, dtype)
    return np.array(values, wide).astype(dtype, copy=False)


def _fill(values: np.ndarray, count: int, proto: tensor_pb2.TensorProto, name: str) -> np.ndarray:
    """Repeats the last value to the full size, which is how TensorFlow shortens constants."""
    if len(values) > count or len(values) == 0 or count > _MAX_FILLED_ELEMENTS:
        shape = [dim.size for dim in proto.tensor_shape.dim]
        raise errors.invalid(
            f'Input "{name}" of shape {shape} must have {count} values. Received: {len(values)}.'
        )
    filled = np.empty(count, values.dtype)
    filled[: len(values)] = values
    filled[len(values) :] = values[-1]
    return filled


def _put_values(proto: tensor_pb2.TensorProto, number: int, array: np.ndarray) -> None:
    tag = _PACKED_TAGS.get(number)
    if tag is not None and array.size >= _MIN_PACKED_VALUES:
        block = np.ascontiguousarray(array).tobytes()
        proto.MergeFromString(tag + protobuf_wire.varint(len(block)) + block)
        return
    flat = array.ravel()
    if number in _HALF_DTYPES:
        flat = flat.view(np.uint16)
    elif number in _COMPLEX_DTYPES:
        flat = flat.view(np.float32 if number == types_pb2.DT_COMPLEX64 else np.float64)
    getattr(proto, _VALUE_FIELDS[number]).extend(flat.tolist())
