"""Predict's two messages, from and to bytes, faster than protobuf where they are of the usual kind.

Building messages through protobuf takes most of a small request's time. A client's requests differ
in their pixels and in nothing else, so that all but the pixels can be compared with an earlier
request; and an answer's tensors are a few constant bytes around numpy's own.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from google.protobuf import message
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2, types_pb2
from tensorflow_serving.apis import model_pb2, predict_pb2

from serving.server import calls, errors, protobuf_wire, tensor_codec

_MIN_CONTENT_BYTES = 64
_MAX_FRAME_BYTES = 1 << 12
_MAX_TEMPLATES = 64
_FLOAT_FIELDS = {types_pb2.DT_FLOAT: 5, types_pb2.DT_DOUBLE: 6}
_CONTENT_FIELD, _STRING_FIELD, _INT64_FIELD = 4, 8, 10


class Parsed(NamedTuple):
    """A PredictRequest."""

    call: calls.Call
    inputs: dict[str, np.ndarray]
    output_filter: Sequence[str]


class _Template(NamedTuple):
    """All of a request but the values of its one input."""

    head: bytes
    tail: bytes
    call: calls.Call
    output_filter: Sequence[str]
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    num_values: int


class RequestReader:
    """Reads requests that are like an earlier one."""

    def __init__(self) -> None:
        # By the whole request's size; the oldest first.
        self._templates: dict[int, list[_Template]] = {}
        self._num_templates = 0

    def read(self, body: bytes) -> Parsed | None:
        """Returns a request that differs from a learned one in its values only; None if none."""
        for template in self._templates.get(len(body), ()):
            head, tail, call, output_filter, name, dtype, shape, num_values = template
            if body.startswith(head) and body.endswith(tail):
                array = np.frombuffer(body, dtype, num_values, len(head)).reshape(shape)
                return Parsed(call, {name: array}, output_filter)
        return None

    def learn(self, body: bytes, parsed: Parsed) -> None:
        """Remembers a request that was read by protobuf, if it has one input of plain numbers."""
        template = _make_template(body, parsed)
        if template is None:
            return
        if self._num_templates >= _MAX_TEMPLATES:
            self._templates.clear()
            self._num_templates = 0
        self._templates.setdefault(len(body), []).append(template)
        self._num_templates += 1


def _make_template(body: bytes, parsed: Parsed) -> _Template | None:
    if len(parsed.inputs) != 1:
        return None
    ((name, array),) = parsed.inputs.items()
    if array.dtype.hasobject or array.nbytes < _MIN_CONTENT_BYTES:
        return None
    values = array.tobytes()
    start = body.find(values)
    stop = start + len(values)
    if start < 0 or len(body) - len(values) > _MAX_FRAME_BYTES:
        return None
    changed = np.frombuffer(values, np.uint8).copy()
    changed[:: array.dtype.itemsize] ^= 1
    others = changed.tobytes()
    if not _is_read_as(others, body[:start] + others + body[stop:], body, name):
        return None
    return _Template(
        head=body[:start],
        tail=body[stop:],
        call=parsed.call,
        output_filter=parsed.output_filter,
        name=name,
        dtype=array.dtype,
        shape=array.shape,
        num_values=array.size,
    )


def _is_read_as(values: bytes, changed: bytes, body: bytes, name: str) -> bool:
    """Tells whether a changed request has these values in its input, and is else as before.

    The bytes that were changed may have been others of the request that happened to be equal.
    """
    before = predict_pb2.PredictRequest.FromString(body)
    try:
        after = predict_pb2.PredictRequest.FromString(changed)
        read = tensor_codec.decode(after.inputs[name], name=name).tobytes()
    except (message.DecodeError, errors.ServingError):
        return False
    after.inputs[name].CopyFrom(before.inputs[name])
    texts = [each.SerializeToString(deterministic=True) for each in (before, after)]
    return read == values and texts[0] == texts[1]


def encode_response(
    call: calls.Call, version: int, outputs: Mapping[str, np.ndarray], *, as_content: bool
) -> bytes:
    """Returns a PredictResponse as bytes.

    Args:
        call: What was asked for.
        version: The version that answered.
        outputs: Arrays by output name.
        as_content: Put raw bytes in `tensor_content`, instead of typed `*_val` fields.
    """
    entries = [_entry(name, np.asarray(array), as_content) for name, array in outputs.items()]
    return b"".join(entries) + _model_spec(call.model_name, version, call.signature_name)


def _entry(name: str, array: np.ndarray, as_content: bool) -> bytes:
    """Returns one pair of the map field `outputs`."""
    number = tensor_codec.datatype_of(array.dtype)
    if as_content and number != types_pb2.DT_STRING:
        values_field = _CONTENT_FIELD
    else:
        values_field = _FLOAT_FIELDS.get(number, 0)
    if values_field and array.size:
        return _raw_head(name, number, array.shape, array.nbytes, values_field) + array.tobytes()
    if number == types_pb2.DT_STRING:
        values = [protobuf_wire.field(_STRING_FIELD, value) for value in array.ravel().tolist()]
        tensor = _tensor_head(number, array.shape) + b"".join(values)
    elif number == types_pb2.DT_INT64 and array.size:
        packed = b"".join(map(protobuf_wire.varint, array.ravel().tolist()))
        tensor = _tensor_head(number, array.shape) + protobuf_wire.field(_INT64_FIELD, packed)
    else:
        tensor = tensor_codec.encode(array, as_content=as_content).SerializeToString()
    return protobuf_wire.field(1, _key(name) + protobuf_wire.field(2, tensor))


# The sizes of answers are as many as the sizes of requests, for each output.
@functools.lru_cache(maxsize=1_024)
def _raw_head(
    name: str, number: int, shape: tuple[int, ...], num_bytes: int, values_field: int
) -> bytes:
    """Returns a pair of `outputs` without the raw values at its end."""
    values = bytes(num_bytes)
    tensor = _tensor_head(number, shape) + protobuf_wire.field(values_field, values)
    whole = protobuf_wire.field(1, _key(name) + protobuf_wire.field(2, tensor))
    return whole[: len(whole) - num_bytes]


@functools.lru_cache(maxsize=1_024)
def _tensor_head(number: int, shape: tuple[int, ...]) -> bytes:
    sizes = [tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in shape]
    proto = tensor_pb2.TensorProto(dtype=number)
    # A scalar has a shape too, with no dimension.
    proto.tensor_shape.SetInParent()
    proto.tensor_shape.dim.extend(sizes)
    return proto.SerializeToString()


@functools.lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return protobuf_wire.field(1, name.encode())


@functools.lru_cache(maxsize=256)
def _model_spec(name: str, version: int, signature_name: str) -> bytes:
    spec = model_pb2.ModelSpec(name=name)
    spec.version.value = version
    spec.signature_name = signature_name or calls.DEFAULT_SIGNATURE
    return protobuf_wire.field(2, spec.SerializeToString())
