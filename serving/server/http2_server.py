"""Listens for gRPC on our own HTTP/2 connections."""

import asyncio
from collections.abc import Mapping

from serving.server import grpc_http2


class Http2Server:
    """Listens, and knows its connections."""

    def __init__(self, methods: Mapping[str, grpc_http2.Method], *, max_message_bytes: int):
        """Prepares to answer.

        Args:
            methods: By path, such as `/package.Service/Method`.
            max_message_bytes: A larger request is refused with RESOURCE_EXHAUSTED.
        """
        self._methods = {path.encode(): method for path, method in methods.items()}
        self._max_message_bytes = max_message_bytes
        self._connections: set[grpc_http2.Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Starts to listen, and returns the port.

        Raises:
            OSError: If the port is taken.
        """
        self._server = await asyncio.get_running_loop().create_server(
            lambda: grpc_http2.Connection(
                self._methods, self._max_message_bytes, self._connections
            ),
            host,
            port,
            backlog=1_024,
        )
        return self._server.sockets[0].getsockname()[1]

    async def drain(self, seconds: float) -> None:
        """Accepts nothing more, finishes what has begun for at most `seconds`, then closes all."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.drain()
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while self._connections and loop.time() < ends_at:
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.abort()
