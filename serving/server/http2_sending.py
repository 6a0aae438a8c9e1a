"""The sending half of an HTTP/2 connection: answers, as far as the client's windows have room."""

import asyncio
from collections.abc import Callable

from serving.server import http2_wire


class Sender:
    """Writes answers; one that does not fit waits for its turn without holding up others."""

    def __init__(self, transport: asyncio.Transport, on_sent: Callable[[int], None]):
        """Prepares to write.

        Args:
            transport: Where to.
            on_sent: Told the stream whose answer is written to its end.
        """
        self._transport = transport
        self._on_sent = on_sent
        self._window = http2_wire.DEFAULT_WINDOW_BYTES
        self._initial_window = http2_wire.DEFAULT_WINDOW_BYTES
        self._frame_bytes = http2_wire.DEFAULT_FRAME_BYTES
        self._windows: dict[int, int] = {}  # Of each open stream.
        self._tails: dict[int, bytes] = {}  # Of answers that wait for room, in their order.

    def open(self, stream_id: int) -> None:
        """Gives a new stream its window."""
        self._windows[stream_id] = self._initial_window

    def forget(self, stream_id: int) -> None:
        """Drops a stream and what is left of its answer."""
        self._windows.pop(stream_id, None)
        self._tails.pop(stream_id, None)

    def obey(self, name: int, value: int) -> None:
        """Takes over one of the client's settings.

        Raises:
            ConnectionFailedError: If the value is out of range.
        """
        if name == http2_wire.Setting.INITIAL_WINDOW_SIZE:
            if value > http2_wire.MAX_WINDOW:
                raise _overflow()
            for stream_id in self._windows:
                self._windows[stream_id] += value - self._initial_window
            self._initial_window = value
        elif name == http2_wire.Setting.MAX_FRAME_SIZE:
            if not http2_wire.DEFAULT_FRAME_BYTES <= value < 1 << 24:
                raise http2_wire.broken("MAX_FRAME_SIZE is out of range.")
            self._frame_bytes = value

    def grow(self, stream_id: int, increment: int) -> None:
        """Adds to a window: a stream's, or with 0 the connection's.

        Raises:
            ConnectionFailedError: If the window would be larger than is allowed.
        """
        if stream_id == 0:
            self._window += increment
        elif stream_id in self._windows:
            self._windows[stream_id] += increment
        if max(self._window, self._windows.get(stream_id, 0)) > http2_wire.MAX_WINDOW:
            raise _overflow()

    def answer(self, stream_id: int, data: bytes) -> None:
        """Writes an answer that succeeded; `data` is the message with its prefix."""
        head, size = http2_wire.answer_head(stream_id), len(data)
        if size <= min(self._frame_bytes, self._windows[stream_id], self._window):
            self._window -= size
            body = http2_wire.frame(http2_wire.DATA, 0, stream_id, data)
            self._transport.write(head + body + http2_wire.answer_end(stream_id))
            self._on_sent(stream_id)
            return
        self._transport.write(head)
        self._tails[stream_id] = data
        self.send_waiting()

    def send_waiting(self) -> None:
        """Writes what the windows now have room for."""
        for stream_id in list(self._tails):
            tail = self._send_some(stream_id, self._tails[stream_id])
            if tail:
                self._tails[stream_id] = tail
                continue
            self._transport.write(http2_wire.answer_end(stream_id))
            self._on_sent(stream_id)

    def _send_some(self, stream_id: int, tail: bytes) -> bytes:
        room = min(self._windows[stream_id], self._window, len(tail))
        if room <= 0:
            return tail
        for start in range(0, room, self._frame_bytes):
            piece = tail[start : min(start + self._frame_bytes, room)]
            self._transport.write(http2_wire.frame(http2_wire.DATA, 0, stream_id, piece))
        self._windows[stream_id] -= room
        self._window -= room
        return tail[room:]


def _overflow() -> http2_wire.ConnectionFailedError:
    return http2_wire.ConnectionFailedError(
        http2_wire.ErrorCode.FLOW_CONTROL_ERROR, "A window is larger than is allowed."
    )
