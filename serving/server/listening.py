"""A listening socket and its connections: how both front ends of our own start and drain."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol

# A client that does not finish its TLS handshake is not waited for.
_HANDSHAKE_SECS = 20.0


class Connection(Protocol):
    """What a listener asks of its connections, besides being an asyncio.Protocol."""

    def drain(self) -> None:
        """Takes no more requests, and closes when those that have begun are answered."""

    def abort(self) -> None:
        """Closes at once."""


class Listener:
    """Listens, and knows its connections."""

    def __init__(self, make_protocol: Callable[[], asyncio.Protocol]):
        """Prepares to listen.

        Args:
            make_protocol: Makes the protocol of a new connection, which is in `connections` from
                when it is made until it is lost.
        """
        self._make_protocol = make_protocol
        self._server: asyncio.Server | None = None
        self.connections: set[Connection] = set()

    async def start(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Starts to listen, with TLS or without, and returns the port.

        Raises:
            OSError: If the port is taken.
        """
        self._server = await asyncio.get_running_loop().create_server(
            self._make_protocol,
            host,
            port,
            backlog=1_024,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _HANDSHAKE_SECS,
        )
        return self._server.sockets[0].getsockname()[1]

    @property
    def is_serving(self) -> bool:
        """Whether new connections are accepted."""
        return self._server is not None and self._server.is_serving()

    async def drain(self, seconds: float) -> None:
        """Accepts nothing more, finishes what has begun for at most `seconds`, then closes all."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.drain()
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while self.connections and loop.time() < ends_at:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
