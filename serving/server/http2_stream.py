"""One unary call on an HTTP/2 connection, while its request arrives and is answered."""

import asyncio
import time
from collections.abc import Mapping

from serving.server import errors, http2_wire

# Opened again half way: what a call may hold is limited by the size of its message.
WINDOW_BYTES = 4 << 20
_NO_DEADLINE_SECS = 1e6


class Stream:
    """What has come of a call."""

    __slots__ = ("body", "headers", "num_bytes", "num_unreported", "task")

    def __init__(self, headers: Mapping[bytes, bytes]):
        self.headers = headers
        self.body: list[bytes] = []
        self.num_bytes = 0
        self.num_unreported = 0  # Received, and not yet given back to the client's window.
        self.task: asyncio.Task | None = None

    def message(self) -> bytes:
        """Returns the one message of a call whose request is whole.

        Raises:
            ServingError: UNIMPLEMENTED if it is compressed, INTERNAL if there is not just one.
        """
        data = self.body[0] if len(self.body) == 1 else b"".join(self.body)
        if data[:1] == b"\1":
            encoding = self.headers.get(b"grpc-encoding", b"identity").decode(errors="replace")
            raise errors.ServingError(
                errors.Code.UNIMPLEMENTED,
                f"Messages must not be compressed. Received: grpc-encoding={encoding!r}.",
            )
        if len(data) < 5 or data[0] or int.from_bytes(data[1:5], "big") != len(data) - 5:
            raise errors.ServingError(
                errors.Code.INTERNAL,
                "A unary call must have one whole message, and nothing after it.",
            )
        return data[5:]

    def deadline(self) -> float:
        """Returns when the answer is no longer wanted, on `time.monotonic`'s clock.

        Raises:
            ServingError: INTERNAL if the client's timeout is malformed.
        """
        timeout = self.headers.get(b"grpc-timeout")
        seconds = _NO_DEADLINE_SECS if timeout is None else http2_wire.parse_timeout(timeout)
        return time.monotonic() + seconds

    def count_received(self, size: int) -> int:
        """Returns how many bytes to give back to the client's window now that `size` more came."""
        self.num_unreported += size
        if self.num_unreported <= WINDOW_BYTES // 2:
            return 0
        num_bytes, self.num_unreported = self.num_unreported, 0
        return num_bytes
