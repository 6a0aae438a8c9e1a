"""HTTP/1.1 on asyncio and httptools: what the REST front end needs, with limits on everything."""

import asyncio
import collections
import dataclasses
import logging
from collections.abc import Awaitable, Callable

import httptools

from serving.server import errors, http_heads, http_messages, listening

_log = logging.getLogger("kerasline.serve")

Handler = Callable[[http_messages.Request], Awaitable[http_messages.Response]]

_NEVER = float("inf")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one client may take up."""

    max_body_bytes: int = 256 * 1024 * 1024  # As received, and again once inflated.
    max_head_bytes: int = 64 * 1024  # Request line and headers together.
    max_pipelined: int = 16
    receive_secs: float = 30.0  # From the first byte of a request to its last.
    idle_secs: float = 75.0  # Between requests, and for a client that does not read its answer.


class Connection(asyncio.Protocol):
    """One client connection: requests are answered in their order."""

    def __init__(self, handler: Handler, limits: Limits, connections: set[listening.Connection]):
        self._handler = handler
        self._limits = limits
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._waiting: collections.deque[tuple[http_messages.Request, bool]] = collections.deque()
        self._task: asyncio.Task | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at = _NEVER  # On the loop's clock.
        self._is_draining = False
        self._is_broken = False
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._repeated = http_heads.RepeatedHead()
        self._num_requests = 0
        self._reset()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio with the new connection."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._parser = httptools.HttpRequestParser(self)
        self._connections.add(self)
        self._wait(self._limits.idle_secs)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when the client has gone; what it asked for is abandoned."""
        self._connections.discard(self)
        self._stop_timer()
        self._can_write.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Called by asyncio when the client reads too slowly."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """Called by asyncio when the client has caught up."""
        self._can_write.set()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with the next bytes."""
        if self._is_broken:
            return
        is_start = not self._is_receiving
        if is_start:
            most = self._limits.max_body_bytes
            request = self._repeated.match(data, max_body_bytes=most)
            if request is not None:
                self._take(request, keep_alive=True)
                return
        num_before = self._num_requests
        self._feed(data)
        is_whole = self._num_requests == num_before + 1 and not self._is_receiving
        if is_start and is_whole and self._method == "POST" and not self._is_broken:
            self._repeated.learn(data, self._target.decode("latin-1"), self._headers)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request before the upgrade is answered as HTTP/1.1; nothing after it is read.
            self._is_broken = True
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            if isinstance(cause, _TooLargeError):
                self._refuse(cause.status, str(cause))
            else:
                _log.exception("A request could not be read.")
                self._refuse(500, "The request could not be read.")
        except httptools.HttpParserError:
            self._refuse(400, "Malformed HTTP request.")

    def drain(self) -> None:
        """Finishes the requests that have begun, then closes."""
        self._is_draining = True
        if self._task is None and not self._is_receiving:
            self._transport.close()

    def abort(self) -> None:
        """Closes at once."""
        self._transport.abort()

    # Called by the parser.

    def on_message_begin(self) -> None:
        """The first byte of a request has come."""
        self._reset()
        self._is_receiving = True
        self._wait(self._limits.receive_secs)

    def on_url(self, url: bytes) -> None:
        """A piece of the target has come."""
        self._target += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        self._count_head(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """The body is next."""
        length = self._headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limits.max_body_bytes:
            raise _too_large_body(self._limits)
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._body.append(body)
        self._num_body_bytes += len(body)
        if self._num_body_bytes > self._limits.max_body_bytes:
            raise _too_large_body(self._limits)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_receiving = False
        self._method = self._parser.get_method().decode("latin-1")
        request = http_messages.Request(
            method=self._method,
            target=self._target.decode("latin-1"),
            headers=self._headers,
            body=b"".join(self._body),
        )
        self._body.clear()
        self._take(request, keep_alive=self._parser.should_keep_alive())

    def _take(self, request: http_messages.Request, *, keep_alive: bool) -> None:
        """Queues a request to be answered in its turn."""
        self._num_requests += 1
        self._ends_at = _NEVER
        self._waiting.append((request, keep_alive))
        if len(self._waiting) >= self._limits.max_pipelined:
            self._transport.pause_reading()
        if self._task is None:
            self._task = self._loop.create_task(self._answer_all())

    def _reset(self) -> None:
        self._method = ""
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._num_body_bytes = 0
        self._num_head_bytes = 0
        self._is_receiving = False

    def _count_head(self, size: int) -> None:
        self._num_head_bytes += size
        if self._num_head_bytes > self._limits.max_head_bytes:
            raise _TooLargeError(
                431, f"The request's head is larger than {self._limits.max_head_bytes} bytes."
            )

    async def _answer_all(self) -> None:
        keep_alive = True
        while self._waiting and keep_alive:
            request, keep_alive = self._waiting.popleft()
            response = await self._answer(request)
            keep_alive = keep_alive and not self._is_draining
            if self._transport.is_closing():
                return
            wire = http_messages.to_bytes(response, request, keep_alive=keep_alive)
            self._transport.write(wire)
            if not self._can_write.is_set():
                await self._wait_for_reader()
        self._task = None
        if not keep_alive or self._is_broken:
            self._transport.close()
        elif not self._is_receiving:
            self._transport.resume_reading()
            self._wait(self._limits.idle_secs)

    async def _answer(self, request: http_messages.Request) -> http_messages.Response:
        try:
            return await self._handler(request)
        except errors.ServingError as error:
            return http_messages.error_response(error)
        except Exception:
            # A defect of ours must not take the connection's other requests with it.
            _log.exception("A request failed.")
            return http_messages.refusal(500, "Internal error.")

    async def _wait_for_reader(self) -> None:
        try:
            await asyncio.wait_for(self._can_write.wait(), self._limits.idle_secs)
        except TimeoutError:
            self._transport.abort()

    def _refuse(self, status: int, message: str) -> None:
        """Answers a request that could not even be read, after those before it."""
        self._is_broken = True
        self._stop_timer()
        if self._task is None:
            response = http_messages.refusal(status, message)
            self._transport.write(http_messages.to_bytes(response, None, keep_alive=False))
            self._transport.close()

    def _wait(self, seconds: float) -> None:
        """Gives the client `seconds` for what comes next.

        The timer is set anew only when it must ring earlier: making two for each request takes a
        tenth of the server's time.
        """
        self._ends_at = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._ends_at:
            self._stop_timer()
        if self._timer is None:
            self._timer = self._loop.call_at(self._ends_at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._ends_at > self._loop.time():
            if self._ends_at != _NEVER:
                self._timer = self._loop.call_at(self._ends_at, self._ring)
        else:
            self._time_out()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        if self._is_receiving:
            self._refuse(408, "The request took too long to arrive.")
        else:
            self._transport.close()


class _TooLargeError(Exception):
    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def _too_large_body(limits: Limits) -> _TooLargeError:
    return _TooLargeError(413, f"The body is larger than {limits.max_body_bytes} bytes.")


class HttpServer(listening.Listener):
    """Answers HTTP requests."""

    def __init__(self, handler: Handler, limits: Limits):
        """Prepares to answer.

        Args:
            handler: Answers one request.
            limits: What one client may take up.
        """
        super().__init__(lambda: Connection(handler, limits, self.connections))
