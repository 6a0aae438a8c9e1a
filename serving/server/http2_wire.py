"""HTTP/2 on the wire (RFC 9113): frames, header blocks, and gRPC's headers in them."""

import enum
import re
import struct
import urllib.parse
from collections.abc import Iterator

import hpack

from serving.server import errors

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_WINDOW = 2**31 - 1
DEFAULT_WINDOW_BYTES = 65_535
DEFAULT_FRAME_BYTES = 16_384
_FRAME_HEAD_BYTES = 9
_MAX_CACHED_BLOCKS = 64

# Frame types and flags.
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY = range(8)
WINDOW_UPDATE, CONTINUATION = 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20


class ErrorCode(enum.IntEnum):
    """The error codes that are sent."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class Setting(enum.IntEnum):
    """The settings that are sent or obeyed."""

    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class ConnectionFailedError(Exception):
    """The client broke the protocol; the connection ends with GOAWAY."""

    def __init__(self, code: ErrorCode, message: str):
        super().__init__(message)
        self.code = code


def broken(message: str) -> ConnectionFailedError:
    """Returns the most common error: a frame that may not come here."""
    return ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, message)


def window_update(stream_id: int, increment: int) -> bytes:
    """Returns a WINDOW_UPDATE frame; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream_id, struct.pack(">I", increment))


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """Returns a frame.

    >>> frame(PING, ACK, 0, bytes(8)).hex()
    '0000080601000000000000000000000000'
    """
    size = len(payload)
    return struct.pack(">HBBBI", size >> 8, size & 0xFF, kind, flags, stream_id) + payload


def settings(values: dict[Setting, int]) -> bytes:
    """Returns a SETTINGS frame."""
    pairs = b"".join(struct.pack(">HI", name, value) for name, value in values.items())
    return frame(SETTINGS, 0, 0, pairs)


class FrameReader:
    """Cuts what has come into frames."""

    def __init__(self, max_frame_bytes: int):
        self._max_frame_bytes = max_frame_bytes
        self._received = b""
        self._has_preface = False

    def feed(self, data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
        """Yields the type, flags, stream and payload of each whole frame.

        Raises:
            ConnectionFailedError: If it is not HTTP/2, or a frame is larger than was agreed.
        """
        received = self._received + data if self._received else data
        start = 0
        if not self._has_preface:
            if not PREFACE.startswith(received[: len(PREFACE)]):
                raise broken("No HTTP/2 preface.")
            self._has_preface = len(received) >= len(PREFACE)
            start = len(PREFACE) if self._has_preface else 0
        while self._has_preface and len(received) - start >= _FRAME_HEAD_BYTES:
            high, low, kind, flags, stream_id = struct.unpack_from(">HBBBI", received, start)
            size = high << 8 | low
            if size > self._max_frame_bytes:
                raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "Too large a frame.")
            body = start + _FRAME_HEAD_BYTES
            if len(received) < body + size:
                break
            start = body + size
            yield kind, flags, stream_id & MAX_WINDOW, received[body:start]
        self._received = received[start:]


def unpad(flags: int, payload: bytes, *, priority_bytes: int = 0) -> bytes:
    """Returns a payload without its padding and priority.

    Raises:
        ConnectionFailedError: If the padding is longer than the frame.
    """
    num_padding = 0
    if flags & PADDED:
        num_padding = payload[0] if payload else 1
        payload = payload[1:]
    if len(payload) < num_padding + priority_bytes:
        raise broken("The padding is too long.")
    return payload[priority_bytes : len(payload) - num_padding]


class HeaderBlocks:
    """Decodes header blocks, each different one once.

    A client's requests differ in little, and its blocks become the same bytes as soon as everything
    in them is in the table. What a block means depends on nothing but the table.
    """

    def __init__(self, max_bytes: int):
        self._decoder = hpack.Decoder(max_header_list_size=max_bytes)
        self._known: dict[bytes, dict[bytes, bytes]] = {}

    def decode(self, block: bytes) -> dict[bytes, bytes]:
        """Returns the headers by name.

        Raises:
            ConnectionFailedError: If the block cannot be decoded.
        """
        headers = self._known.get(block)
        if headers is not None:
            return headers
        before = self._table()
        try:
            headers = dict(self._decoder.decode(block, raw=True))
        except hpack.HPACKError as error:
            raise ConnectionFailedError(ErrorCode.COMPRESSION_ERROR, str(error)) from error
        if not all(x is y or x == y for x, y in zip(before, self._table(), strict=True)):
            self._known.clear()
        elif len(self._known) < _MAX_CACHED_BLOCKS:
            self._known[block] = headers
        return headers

    def _table(self) -> tuple[int, int, object]:
        """Returns what differs after any change: a new entry comes first, and is a new object."""
        table = self._decoder.header_table
        entries = table.dynamic_entries
        return table.maxsize, len(entries), id(entries[0]) if entries else None


def literal_headers(*headers: tuple[bytes, bytes]) -> bytes:
    """Returns a header block that uses no table, so that it may be sent at any time.

    >>> literal_headers((b"grpc-status", b"0")).hex()
    '000b677270632d7374617475730130'
    """
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)


def _text(value: bytes) -> bytes:
    size = len(value)
    if size < 0x7F:
        return bytes([size]) + value
    encoded = bytearray([0x7F])
    size -= 0x7F
    while size >= 0x80:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + value


_TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
_UNIT_SECS = {b"H": 3_600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}


def parse_timeout(text: bytes) -> float:
    """Returns the seconds of a `grpc-timeout` header.

    Raises:
        ServingError: INTERNAL if it is not one, as gRPC's own servers answer.

    >>> parse_timeout(b"250m")
    0.25
    """
    found = _TIMEOUT.fullmatch(text)
    if found is None:
        raise errors.ServingError(errors.Code.INTERNAL, "The grpc-timeout header is malformed.")
    return int(found[1]) * _UNIT_SECS[found[2]]


_OK_TRAILERS = literal_headers((b"grpc-status", b"0"))
_ANSWER_HEADERS = literal_headers((b":status", b"200"), (b"content-type", b"application/grpc"))


def answer_head(stream_id: int) -> bytes:
    """Returns the frame that comes before an answer's message."""
    return frame(HEADERS, END_HEADERS, stream_id, _ANSWER_HEADERS)


def answer_end(stream_id: int) -> bytes:
    """Returns the frame that comes after an answer's message."""
    return frame(HEADERS, END_HEADERS | END_STREAM, stream_id, _OK_TRAILERS)


def failure(stream_id: int, error: errors.ServingError) -> bytes:
    """Returns the one frame of a call that failed; the message is percent-encoded."""
    message = urllib.parse.quote(error.message[:4_096], safe=" !\"#$&'()*+,/:;<=>?@[\\]^`{|}")
    block = _ANSWER_HEADERS + literal_headers(
        (b"grpc-status", str(int(error.code)).encode()),
        (b"grpc-message", message.encode()),
        (b"grpc-accept-encoding", b"identity"),
    )
    return frame(HEADERS, END_HEADERS | END_STREAM, stream_id, block)


def refusal(stream_id: int, status: bytes) -> bytes:
    """Returns the one frame of a request that is not gRPC's, with an HTTP status."""
    return frame(
        HEADERS, END_HEADERS | END_STREAM, stream_id, literal_headers((b":status", status))
    )
