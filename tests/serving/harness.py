"""Runs the real server in a thread of the test process, on free ports."""

import asyncio
import contextlib
import threading
import time

import grpc
import httpx

from serving.server import app, config

TIMEOUT_SECS = 60.0


class RunningServer:
    """A server on a thread of its own, and clients for it."""

    def __init__(self, settings: config.ServerConfig):
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self):
        self._thread.start()
        self.app = self.on_loop(self._make())
        try:
            self.on_loop(self.app.start())
        except BaseException:
            self._end()
            raise
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.app.rest_port}", timeout=TIMEOUT_SECS
        )
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{self.app.grpc_port}", options=[("grpc.max_receive_message_length", -1)]
        )

    def stop(self):
        self.http.close()
        self.channel.close()
        self._end()

    def _end(self):
        self.on_loop(self.app.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_SECS)
        self._loop.close()

    def on_loop(self, coroutine):
        """Runs a coroutine on the server's loop and returns what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT_SECS)

    def poll(self):
        """Makes the server look at the disk now."""
        self.on_loop(self.app._models.poll())

    def post(self, path: str, body, **options) -> httpx.Response:
        if isinstance(body, (bytes, str)):
            return self.http.post(path, content=body, **options)
        return self.http.post(path, json=body, **options)

    async def _make(self):
        return app.Server(self._settings)


@contextlib.contextmanager
def serve(**settings):
    """Serves until the block ends; polls the disk only when asked to."""
    defaults = {"port": 0, "rest_api_port": 0, "file_system_poll_wait_seconds": 0.0}
    server = RunningServer(config.ServerConfig(**{**defaults, **settings}))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def wait_until(is_true, *, seconds: float = TIMEOUT_SECS) -> None:
    """Returns as soon as a condition holds; fails after `seconds`."""
    ends_at = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < ends_at, "The condition did not become true in time."
        time.sleep(0.01)
