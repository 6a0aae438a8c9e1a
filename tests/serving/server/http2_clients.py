"""A service on our own HTTP/2, and clients for it."""

import asyncio
import contextlib
import socket
import struct
import threading

import grpc
import h2.config
import h2.connection
import h2.events

from serving.server import errors, http2_server

TIMEOUT_SECS = 30
PATH = "/test.Service/Method"
HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", PATH),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
]


class Service:
    """Answers with what it was sent, or as the message says."""

    def __init__(self):
        self.num_begun = 0
        self.num_cancelled = 0
        self.gate = asyncio.Event()

    async def answer(self, message: bytes, deadline: float) -> bytes:
        self.num_begun += 1
        if message == b"fail":
            raise errors.ServingError(errors.Code.OUT_OF_RANGE, "50% ä\nend")
        if message == b"wait":
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.num_cancelled += 1
                raise
        if message.startswith(b"size "):
            return bytes(int(message[5:]))
        if message == b"deadline":
            return str(round(deadline - asyncio.get_running_loop().time())).encode()
        return message


class Running:
    def __init__(self, loop, service, server, port):
        self.loop, self.service, self.server, self.port = loop, service, server, port

    def on_loop(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(TIMEOUT_SECS)

    def open_gate(self):
        self.loop.call_soon_threadsafe(self.service.gate.set)


@contextlib.contextmanager
def listen(*, max_message_bytes=1 << 30):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def make():
        service = Service()
        methods = {PATH: service.answer}
        server = http2_server.Http2Server(methods, max_message_bytes=max_message_bytes)
        return Running(loop, service, server, await server.start("127.0.0.1", 0))

    running = asyncio.run_coroutine_threadsafe(make(), loop).result(TIMEOUT_SECS)
    try:
        yield running
    finally:
        running.on_loop(running.server.drain(0.0))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_SECS)
        loop.close()


@contextlib.contextmanager
def stock_channel(running):
    """A channel of grpcio."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{running.port}", options=options) as channel:
        yield channel


def call(channel, message, **options):
    return channel.unary_unary(PATH)(message, timeout=TIMEOUT_SECS, **options)


class H2Client:
    """A connection that hyper-h2 keeps to the rules."""

    def __init__(self, port):
        settings = h2.config.H2Configuration(header_encoding="utf-8")
        self.connection = h2.connection.H2Connection(settings)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECS)
        self.connection.initiate_connection()
        self.flush()

    def flush(self):
        self.socket.sendall(self.connection.data_to_send())

    def send(self, message, *, headers=HEADERS, prefix=None, **options):
        stream_id = self.connection.get_next_available_stream_id()
        prefix = b"\0" + struct.pack(">I", len(message)) if prefix is None else prefix
        self.connection.send_headers(stream_id, headers)
        self.connection.send_data(stream_id, prefix + message, end_stream=True, **options)
        self.flush()
        return stream_id

    def events(self):
        """Yields what comes until the server closes; the windows are opened again at once."""
        while data := self.socket.recv(1 << 16):
            for event in self.connection.receive_data(data):
                if isinstance(event, h2.events.DataReceived):
                    size, stream_id = event.flow_controlled_length, event.stream_id
                    if size:
                        self.connection.acknowledge_received_data(size, stream_id)
                yield event
            self.flush()

    def finish(self, stream_id):
        """Returns a call's headers and trailers by name, and its bytes."""
        headers, body = {}, b""
        for event in self.events():
            if getattr(event, "stream_id", None) != stream_id:
                continue
            if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                headers.update(event.headers)
            if isinstance(event, h2.events.DataReceived):
                body += event.data
            if isinstance(event, h2.events.StreamEnded):
                return headers, body
        raise AssertionError("The server closed before the call ended.")


@contextlib.contextmanager
def h2_client(running):
    client = H2Client(running.port)
    try:
        yield client
    finally:
        client.socket.close()
