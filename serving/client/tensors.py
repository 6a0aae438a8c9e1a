"""Arrays to TensorProto and back, and what a signature says of them; without TensorFlow."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.client import messages

# types.proto's DataType numbers -> numpy dtypes; strings are objects that hold bytes.
_DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.int8),
    7: np.dtype(object),
    8: np.dtype(np.complex64),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    17: np.dtype(np.uint16),
    18: np.dtype(np.complex128),
    19: np.dtype(np.float16),
    22: np.dtype(np.uint32),
    23: np.dtype(np.uint64),
}
_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}
_NAMES = {1: "FLOAT", 2: "DOUBLE", 7: "STRING", 10: "BOOL", 19: "HALF"}
_NUMBERS_BY_NAME = {
    f"DT_{_NAMES.get(number, dtype.name.upper())}": number for number, dtype in _DTYPES.items()
}
_VALUE_FIELDS = {1: "float_val", 2: "double_val", 9: "int64_val", 10: "bool_val", 19: "half_val"}
_VALUE_FIELDS.update({7: "string_val", 8: "scomplex_val", 18: "dcomplex_val"})
_VALUE_FIELDS.update({22: "uint32_val", 23: "uint64_val"})
_SMALL_INTEGERS = "int_val"


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """What a signature says of one input or output."""

    dtype: np.dtype  # Of object: bytes.
    shape: tuple[int | None, ...] | None  # None: any rank; None inside: any size.


@dataclasses.dataclass(frozen=True)
class Signature:
    """One callable of a served model."""

    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]


def encode(array: np.ndarray) -> Any:
    """Returns the TensorProto of an array, as raw bytes where the protocol allows."""
    proto = messages.new("TensorProto", dtype=_NUMBERS[array.dtype])
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype.kind == "O":
        proto.string_val.extend(array.ravel().tolist())
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    return proto


def decode(proto: Any) -> np.ndarray:
    """Returns the array of a TensorProto, whichever field holds it.

    Raises:
        ValueError: If its dtype is one that numpy does not have.
    """
    dtype = _DTYPES.get(proto.dtype)
    if dtype is None:
        raise ValueError(f"The dtype of an output has no numpy dtype. Received: {proto.dtype}.")
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype).reshape(shape)
    values = _values(proto, dtype)
    count = math.prod(shape)
    if 0 < len(values) < count:
        # A constant may be shortened to its first values; the last is repeated.
        values = np.concatenate([values, np.repeat(values[-1:], count - len(values))])
    return values.reshape(shape)


def read_signatures(signature_def: Mapping[str, Any]) -> dict[str, Signature]:
    """Reads the signatures of a `SignatureDefMap`, leaving out those with an unknown dtype."""
    return {
        name: Signature(_specs(definition.inputs), _specs(definition.outputs))
        for name, definition in sorted(signature_def.items())
        if _is_readable(definition)
    }


def dtype_number(name: str) -> int:
    """Returns the number of a dtype by its name in metadata; 0 for an unknown one.

    >>> dtype_number("DT_FLOAT"), dtype_number("DT_UINT8"), dtype_number("DT_RESOURCE")
    (1, 4, 0)
    """
    return _NUMBERS_BY_NAME.get(name, 0)


def _values(proto: Any, dtype: np.dtype) -> np.ndarray:
    values = getattr(proto, _VALUE_FIELDS.get(proto.dtype, _SMALL_INTEGERS))
    if isinstance(values, bytes):
        return np.frombuffer(values, dtype)
    if dtype.kind == "O":
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if dtype == np.float16:
        return np.array(values, np.uint16).view(np.float16)
    if dtype.kind == "c":
        return np.array(values, f"f{dtype.itemsize // 2}").view(dtype)
    return np.array(values, np.int64 if dtype.itemsize < 4 else dtype).astype(dtype, copy=False)


def _is_readable(definition: Any) -> bool:
    infos = [*definition.inputs.values(), *definition.outputs.values()]
    return all(info.dtype in _DTYPES for info in infos)


def _specs(infos: Mapping[str, Any]) -> dict[str, TensorSpec]:
    return {name: _spec(info) for name, info in sorted(infos.items())}


def _spec(info: Any) -> TensorSpec:
    shape = None
    if not info.tensor_shape.unknown_rank:
        shape = tuple(None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim)
    return TensorSpec(_DTYPES[info.dtype], shape)
