"""tf.Example messages on the wire, without TensorFlow: its import costs more than a whole ingest.

A tf.Example is `Features features = 1`, `Features` is `map<string, Feature> feature = 1`, and a
`Feature` holds one of `BytesList = 1`, `FloatList = 2` or `Int64List = 3`. Keys are written in
sorted order, as TensorFlow's own deterministic serialisation does, so that the same row always
gives the same bytes.
"""

import functools
import struct
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

# A missing value is None or an empty list. Floats are written with 32 bits.
Value = bytes | int | float | Sequence[bytes] | Sequence[int] | Sequence[float] | np.ndarray | None

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = b"\n", b"\x12", b"\x1a"


def encode_example(features: Mapping[str, Value]) -> bytes:
    """Serialises one row.

    Args:
        features: Byte strings, integers in [-2**63, 2**63), floats, lists of one of these, or
            one-dimensional arrays of floats, by name.

    Returns:
        The same bytes as `tf.train.Example(...).SerializeToString(deterministic=True)`, unless one
        name begins with another: here the shorter comes first, in Python's protobuf the longer.

    Raises:
        TypeError: If a value is of another type.

    >>> sorted(decode_example(encode_example({"image": b"png", "label": 3, "size": []})).items())
    [('image', [b'png']), ('label', [3]), ('size', [])]
    """
    return finish_example(
        b"".join([encode_entry(name, features[name]) for name in sorted(features)])
    )


def finish_example(entries: bytes) -> bytes:
    """Returns the tf.Example that consists of encoded entries, which are in order."""
    return b"\n" + _varint(len(entries)) + entries


def encode_entry(name: str, value: Value) -> bytes:
    """Encodes one feature under its name; single values, which are common, come first."""
    if isinstance(value, bytes):
        return _bytes_entry(name, value)
    if isinstance(value, int):
        return _int_entry(name, value)
    if isinstance(value, float):
        return _packed_entry(name, _FLOAT_LIST, struct.pack("<f", value))
    if value is None or len(value) == 0:
        return _entry_head(name, 0)
    if isinstance(value, np.ndarray):
        return _packed_entry(name, _FLOAT_LIST, value.astype("<f4").tobytes())
    return _list_entry(name, value)


def _list_entry(name: str, values: Sequence[bytes] | Sequence[int] | Sequence[float]) -> bytes:
    if all(isinstance(value, bytes) for value in values):
        items = b"".join(b"\n" + _varint(len(value)) + value for value in values)  # type: ignore[arg-type, operator]
        feature = _BYTES_LIST + _varint(len(items)) + items
        return _entry_head(name, len(feature)) + feature
    if all(isinstance(value, int) for value in values):
        return _packed_entry(name, _INT64_LIST, b"".join(_int64(int(value)) for value in values))
    if all(isinstance(value, int | float) for value in values):
        return _packed_entry(name, _FLOAT_LIST, struct.pack(f"<{len(values)}f", *values))
    raise TypeError(
        f"Expected the values of the feature {name} to be byte strings, integers or floats alike. "
        f"Received: {values!r}."
    )


def _bytes_entry(name: str, value: bytes) -> bytes:
    """Encodes a map entry that holds one byte string; only sizes travel inwards, so one copy."""
    value_head = b"\n" + _varint(len(value))
    list_size = len(value_head) + len(value)
    list_head = _BYTES_LIST + _varint(list_size)
    return _entry_head(name, len(list_head) + list_size) + list_head + value_head + value


@functools.lru_cache(1 << 14)
def _int_entry(name: str, value: int) -> bytes:
    return _packed_entry(name, _INT64_LIST, _int64(value))


def _packed_entry(name: str, kind: bytes, packed: bytes) -> bytes:
    values = b"\n" + _varint(len(packed)) + packed
    feature = kind + _varint(len(values)) + values
    return _entry_head(name, len(feature)) + feature


def _entry_head(name: str, feature_size: int) -> bytes:
    encoded = name.encode()
    head = b"\n" + _varint(len(encoded)) + encoded + b"\x12" + _varint(feature_size)
    return b"\n" + _varint(len(head) + feature_size) + head


def _int64(value: int) -> bytes:
    return _varint(value & (1 << 64) - 1)


@functools.lru_cache(1 << 14)
def _varint(value: int) -> bytes:
    pieces = bytearray()
    while value >= 0x80:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)


def decode_example(message: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """Parses a serialised tf.Example into lists by feature name.

    Raises:
        ValueError: If `message` is not a tf.Example.
    """
    try:
        return dict(_decode_features(message))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError("Expected a serialised tf.Example; the message ends early.") from error


def _decode_features(message: bytes) -> Iterator[tuple[str, list[bytes] | list[int] | list[float]]]:
    for _, features in _fields(message):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            yield parts.get(1, b"").decode(), _decode_feature(parts.get(2, b""))


def _decode_feature(feature: bytes) -> list[bytes] | list[int] | list[float]:
    for kind, payload in _fields(feature):
        if kind == 1:
            return [value for _, value in _fields(payload)]
        if kind == 2:
            packed = b"".join(value for _, value in _fields(payload))
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        return [value for _, packed in _fields(payload) for value in _varints(packed)]
    return []


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields (field number, payload); a varint's payload is its encoding, a packed list of one."""
    position, end = 0, len(message)
    while position < end:
        tag, position = _read_varint(message, position)
        wire_type = tag & 7
        if wire_type == _LENGTH:
            size, position = _read_varint(message, position)
            stop = position + size
        elif wire_type == _VARINT:
            stop = _read_varint(message, position)[1]
        elif wire_type in (_FIXED32, _FIXED64):
            stop = position + (4 if wire_type == _FIXED32 else 8)
        else:
            raise ValueError(f"Expected a serialised tf.Example. Received: wire type {wire_type}.")
        if stop > end:
            raise IndexError
        yield tag >> 3, message[position:stop]
        position = stop


def _varints(packed: bytes) -> Iterator[int]:
    position = 0
    while position < len(packed):
        value, position = _read_varint(packed, position)
        if value >> 64:
            raise ValueError("Expected a serialised tf.Example; an integer has over 64 bits.")
        # Protobuf stores a negative int64 as its two's complement in 64 bits.
        yield value - (1 << 64) if value >> 63 else value


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
