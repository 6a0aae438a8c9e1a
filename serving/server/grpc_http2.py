"""gRPC's unary calls on asyncio and our own HTTP/2 connection: the fast front end.

grpcio takes some 300 us of processor time for a call, more than everything else together. What a
unary call needs of HTTP/2 is little: here each connection is one asyncio protocol, and a call that
fits into the windows is answered by one write.
"""

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable, Mapping

from serving.server import errors, http2_sending, http2_stream, http2_wire, listening

_log = logging.getLogger("kerasline.serve")

# The message of a call and its deadline on `time.monotonic`'s clock -> the answer; ServingError.
Method = Callable[[bytes, float], Awaitable[bytes]]

_MAX_STREAMS = 1_000
_CONNECTION_WINDOW_BYTES = 16 << 20
_MAX_FRAME_BYTES = 1 << 18
_MAX_HEADER_BYTES = 16 << 10
# Calls that a client may give up over and above those that it lets finish.
_MAX_RESETS = 1_000
_HANDSHAKE_SECS = 20.0
_GREETING = http2_wire.settings(
    {
        http2_wire.Setting.MAX_CONCURRENT_STREAMS: _MAX_STREAMS,
        http2_wire.Setting.INITIAL_WINDOW_SIZE: http2_stream.WINDOW_BYTES,
        http2_wire.Setting.MAX_FRAME_SIZE: _MAX_FRAME_BYTES,
        http2_wire.Setting.MAX_HEADER_LIST_SIZE: _MAX_HEADER_BYTES,
    }
)


class Connection(asyncio.Protocol):
    """One client connection and its calls."""

    def __init__(
        self,
        methods: Mapping[bytes, Method],
        max_message_bytes: int,
        peers: set[listening.Connection],
    ):
        self._methods = methods
        self._max_message_bytes = max_message_bytes
        self._peers = peers
        self._loop = asyncio.get_running_loop()
        self._frames = http2_wire.FrameReader(_MAX_FRAME_BYTES)
        self._blocks = http2_wire.HeaderBlocks(_MAX_HEADER_BYTES)
        self._streams: dict[int, http2_stream.Stream] = {}
        self._last_stream_id = 0
        self._head: tuple[int, int, bytes] | None = None  # Stream, flags, block so far.
        self._num_unreported = 0
        self._num_resets = 0
        self._is_draining = False
        self._is_ready = False  # Has sent its settings.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio with the new connection."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._sender = http2_sending.Sender(self._transport, self._end)
        self._peers.add(self)
        growth = _CONNECTION_WINDOW_BYTES - http2_wire.DEFAULT_WINDOW_BYTES
        self._transport.write(_GREETING + http2_wire.window_update(0, growth))
        self._handshake = self._loop.call_later(_HANDSHAKE_SECS, self._end_unready)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when the client has gone; its calls are abandoned."""
        self._peers.discard(self)
        self._handshake.cancel()
        for stream in self._streams.values():
            if stream.task is not None:
                stream.task.cancel()
        self._streams.clear()

    def pause_writing(self) -> None:
        """Called by asyncio when the client reads too slowly: it gets no more answers queued."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Called by asyncio when the client has caught up."""
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with the next bytes."""
        try:
            for kind, flags, stream_id, payload in self._frames.feed(data):
                if self._transport.is_closing():
                    return
                self._take(kind, flags, stream_id, payload)
        except http2_wire.ConnectionFailedError as error:
            self._go_away(error.code, str(error))
            self._transport.close()

    def drain(self) -> None:
        """Accepts no more calls, and closes when those that have begun are answered."""
        self._is_draining = True
        self._go_away(http2_wire.ErrorCode.NO_ERROR, "The server is shutting down.")
        if not self._streams:
            self._transport.close()

    def abort(self) -> None:
        """Closes at once."""
        self._transport.abort()

    def _end_unready(self) -> None:
        if not self._is_ready:
            self._transport.abort()

    def _go_away(self, code: http2_wire.ErrorCode, reason: str) -> None:
        payload = struct.pack(">II", self._last_stream_id, code) + reason.encode()
        self._transport.write(http2_wire.frame(http2_wire.GOAWAY, 0, 0, payload))

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._head is not None and kind != http2_wire.CONTINUATION:
            raise http2_wire.broken("A header block was interrupted.")
        if not self._is_ready and kind != http2_wire.SETTINGS:
            raise http2_wire.broken("The first frame must be SETTINGS.")
        take = _TAKERS.get(kind)
        if take is not None:
            take(self, flags, stream_id, payload)

    def _take_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = 5 if flags & http2_wire.HAS_PRIORITY else 0
        self._head = stream_id, flags, http2_wire.unpad(flags, payload, priority_bytes=size)
        if flags & http2_wire.END_HEADERS:
            self._finish_headers()

    def _take_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        if self._head is None or self._head[0] != stream_id:
            raise http2_wire.broken("A CONTINUATION continues nothing.")
        block = self._head[2] + payload
        if len(block) > _MAX_HEADER_BYTES or not payload:
            raise http2_wire.ConnectionFailedError(
                http2_wire.ErrorCode.ENHANCE_YOUR_CALM, "Too large or too many header frames."
            )
        self._head = stream_id, self._head[1], block
        if flags & http2_wire.END_HEADERS:
            self._finish_headers()

    def _finish_headers(self) -> None:
        assert self._head is not None
        stream_id, flags, block = self._head
        self._head = None
        # Decoded even where it is of no use: later blocks refer to it.
        headers = self._blocks.decode(block)
        has_ended = bool(flags & http2_wire.END_STREAM)
        stream = self._streams.get(stream_id)
        if stream is not None:
            if not has_ended:
                raise http2_wire.broken("A second header block must end the stream.")
            self._finish_request(stream_id, stream)
        elif stream_id > self._last_stream_id and stream_id % 2 == 1:
            self._open(stream_id, headers, has_ended)
        elif stream_id % 2 == 0:
            raise http2_wire.broken("A client's streams have odd numbers.")

    def _open(self, stream_id: int, headers: Mapping[bytes, bytes], has_ended: bool) -> None:
        if self._is_draining:
            # It is told by GOAWAY that this was not begun, and may ask another server.
            return
        self._last_stream_id = stream_id
        if len(self._streams) >= _MAX_STREAMS:
            raise http2_wire.ConnectionFailedError(
                http2_wire.ErrorCode.ENHANCE_YOUR_CALM, "More calls at once than was agreed."
            )
        is_grpc = headers.get(b"content-type", b"").startswith(b"application/grpc")
        if headers.get(b":method") != b"POST" or not is_grpc:
            status = b"415" if headers.get(b":method") == b"POST" else b"405"
            self._transport.write(http2_wire.refusal(stream_id, status))
            return
        stream = self._streams[stream_id] = http2_stream.Stream(headers)
        self._sender.open(stream_id)
        if has_ended:
            self._finish_request(stream_id, stream)

    def _take_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0 or (stream_id > self._last_stream_id and not self._is_draining):
            raise http2_wire.broken("DATA came for a stream that was not opened.")
        self._num_unreported += len(payload)
        if self._num_unreported > _CONNECTION_WINDOW_BYTES // 2:
            self._transport.write(http2_wire.window_update(0, self._num_unreported))
            self._num_unreported = 0
        stream = self._streams.get(stream_id)
        if stream is None or stream.task is not None:
            # It was refused or given up, and the client did not know yet.
            return
        has_ended = bool(flags & http2_wire.END_STREAM)
        regained = 0 if has_ended else stream.count_received(len(payload))
        if regained:
            self._transport.write(http2_wire.window_update(stream_id, regained))
        stream.body.append(http2_wire.unpad(flags, payload))
        stream.num_bytes += len(stream.body[-1])
        if stream.num_bytes > self._max_message_bytes + 5:
            text = f"The message must have at most {self._max_message_bytes} bytes."
            self._fail(stream_id, errors.ServingError(errors.Code.RESOURCE_EXHAUSTED, text))
        elif has_ended:
            self._finish_request(stream_id, stream)

    def _take_reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0 or (stream_id > self._last_stream_id and not self._is_draining):
            raise http2_wire.broken("RST_STREAM came for a stream that was not opened.")
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        self._num_resets += 1
        if self._num_resets > _MAX_RESETS:
            raise http2_wire.ConnectionFailedError(
                http2_wire.ErrorCode.ENHANCE_YOUR_CALM, "Too many calls were given up."
            )
        if stream.task is not None:
            stream.task.cancel()
        self._forget(stream_id)

    def _take_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0 or len(payload) % 6:
            raise http2_wire.ConnectionFailedError(
                http2_wire.ErrorCode.FRAME_SIZE_ERROR, "Malformed SETTINGS."
            )
        if flags & http2_wire.ACK:
            return
        for name, value in struct.iter_unpack(">HI", payload):
            self._sender.obey(name, value)
        self._is_ready = True
        self._transport.write(http2_wire.frame(http2_wire.SETTINGS, http2_wire.ACK, 0))
        self._sender.send_waiting()

    def _take_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 8 or stream_id != 0:
            raise http2_wire.ConnectionFailedError(
                http2_wire.ErrorCode.FRAME_SIZE_ERROR, "Malformed PING."
            )
        if not flags & http2_wire.ACK:
            self._transport.write(http2_wire.frame(http2_wire.PING, http2_wire.ACK, 0, payload))

    def _take_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        increment = int.from_bytes(payload, "big") & http2_wire.MAX_WINDOW
        if len(payload) != 4 or increment == 0:
            raise http2_wire.broken("Malformed WINDOW_UPDATE.")
        self._sender.grow(stream_id, increment)
        self._sender.send_waiting()

    def _take_push(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise http2_wire.broken("A client cannot push.")

    def _finish_request(self, stream_id: int, stream: http2_stream.Stream) -> None:
        try:
            method = self._methods.get(stream.headers.get(b":path", b""))
            if method is None:
                raise errors.ServingError(errors.Code.UNIMPLEMENTED, "Method not found!")
            deadline, message = stream.deadline(), stream.message()
        except errors.ServingError as error:
            self._fail(stream_id, error)
            return
        stream.body.clear()
        answer = self._answer(stream_id, method, message, deadline)
        stream.task = self._loop.create_task(answer)

    async def _answer(self, stream_id: int, method: Method, message: bytes, until: float) -> None:
        try:
            answer = await method(message, until)
        except errors.ServingError as error:
            self._fail(stream_id, error)
        else:
            if stream_id in self._streams and not self._transport.is_closing():
                prefix = b"\0" + struct.pack(">I", len(answer))
                self._sender.answer(stream_id, prefix + answer)

    def _fail(self, stream_id: int, error: errors.ServingError) -> None:
        if stream_id in self._streams and not self._transport.is_closing():
            self._transport.write(http2_wire.failure(stream_id, error))
            self._end(stream_id)

    def _end(self, stream_id: int) -> None:
        self._num_resets = max(0, self._num_resets - 1)
        self._forget(stream_id)

    def _forget(self, stream_id: int) -> None:
        self._streams.pop(stream_id, None)
        self._sender.forget(stream_id)
        if self._is_draining and not self._streams:
            self._transport.close()


_TAKERS: Mapping[int, Callable[[Connection, int, int, bytes], None]] = {
    http2_wire.DATA: Connection._take_data,
    http2_wire.HEADERS: Connection._take_headers,
    http2_wire.RST_STREAM: Connection._take_reset,
    http2_wire.SETTINGS: Connection._take_settings,
    http2_wire.PUSH_PROMISE: Connection._take_push,
    http2_wire.PING: Connection._take_ping,
    http2_wire.WINDOW_UPDATE: Connection._take_window_update,
    http2_wire.CONTINUATION: Connection._take_continuation,
}
