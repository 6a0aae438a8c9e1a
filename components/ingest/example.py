"""tf.Example messages on the wire, without TensorFlow: its import costs more than a whole ingest.

A tf.Example is `Features features = 1`, `Features` is `map<string, Feature> feature = 1`, and a
`Feature` holds one of `BytesList = 1`, `FloatList = 2` or `Int64List = 3`. Keys are written in
sorted order, as TensorFlow's own deterministic serialisation does, so that the same row always
gives the same bytes.
"""

import functools
import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def encode_example(*, image: bytes, key: bytes, label: int) -> bytes:
    """Serialises one row.

    Args:
        image: A whole PNG or JPEG file.
        key: Unique, stable id of the row.
        label: Class index, in [0, 2**63).

    Returns:
        The same bytes as `tf.train.Example(...).SerializeToString(deterministic=True)`.

    >>> sorted(decode_example(encode_example(image=b"png", key=b"train/7", label=3)).items())
    [('image', [b'png']), ('key', [b'train/7']), ('label', [3])]
    """
    features = _bytes_entry(b"image", image) + _bytes_entry(b"key", key) + _label_entry(label)
    return b"\n" + _varint(len(features)) + features


def _bytes_entry(name: bytes, value: bytes) -> bytes:
    """Encodes a map entry that holds one byte string; only sizes travel inwards, so one copy."""
    value_head = b"\n" + _varint(len(value))
    list_size = len(value_head) + len(value)
    list_head = b"\n" + _varint(list_size)
    return _entry_head(name, len(list_head) + list_size) + list_head + value_head + value


@functools.cache
def _label_entry(label: int) -> bytes:
    packed = _varint(label)
    integers = b"\n" + _varint(len(packed)) + packed
    feature = b"\x1a" + _varint(len(integers)) + integers
    return _entry_head(b"label", len(feature)) + feature


def _entry_head(name: bytes, feature_size: int) -> bytes:
    head = b"\n" + _varint(len(name)) + name + b"\x12" + _varint(feature_size)
    return b"\n" + _varint(len(head) + feature_size) + head


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
