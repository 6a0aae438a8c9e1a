"""One unary call on an HTTP/2 connection, while its request arrives and is answered."""

import asyncio
from collections.abc import Mapping

from serving.server import errors


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
