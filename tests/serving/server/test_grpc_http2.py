"""Our own HTTP/2: hyper-h2 and grpcio as clients, and frames that break the rules."""

import asyncio
import contextlib
import random
import socket
import struct
import threading
from concurrent import futures

import grpc
import h2.config
import h2.connection
import h2.events
import pydantic
import pytest

from serving.server import config, errors, http2_server, http2_wire
from tests.serving import harness

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
SETTINGS = http2_wire.frame(http2_wire.SETTINGS, 0, 0)
GREETING = http2_wire.PREFACE + SETTINGS


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


@pytest.fixture(scope="module")
def running():
    with listen(max_message_bytes=20_000_000) as server:
        yield server


@pytest.fixture
def stock(running):
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


def test_h2_client_gets_the_answer(running):
    with h2_client(running) as client:
        headers, body = client.finish(client.send(b"abc"))
    assert body == b"\0\0\0\0\x03abc"
    assert headers == {":status": "200", "content-type": "application/grpc", "grpc-status": "0"}


@pytest.mark.parametrize("size", [0, 1, 16_379, 16_380, 70_000, 5_000_000])
def test_large_messages_pass_both_ways_through_the_windows(running, stock, size):
    message = random.Random(size).randbytes(size)
    assert call(stock, message) == message


def test_answer_waits_for_small_windows(running):
    with h2_client(running) as client:
        size = 300_000
        client.connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 100})
        client.flush()
        headers, body = client.finish(client.send(b"size %d" % size))
    assert headers["grpc-status"] == "0"
    assert len(body) == size + 5


def test_many_calls_at_once_on_one_connection(running, stock):
    with futures.ThreadPoolExecutor(32) as pool:
        messages = [str(number).encode() for number in range(500)]
        assert list(pool.map(lambda message: call(stock, message), messages)) == messages


def test_metadata_and_deadline_that_differ_each_time(running, stock):
    """Other headers make other header blocks, which change the table that blocks refer to."""
    for number in range(50):
        metadata = [(f"key-{number % 7}", str(number)), ("same", "x" * number)]
        method = stock.unary_unary(PATH)
        assert method(b"m", timeout=number + 1, metadata=metadata) == b"m"


def test_deadline_reaches_the_method(running, stock):
    assert stock.unary_unary(PATH)(b"deadline", timeout=1_000) in (b"999", b"1000")


def test_error_is_told_in_the_trailers(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        call(stock, b"fail")
    assert caught.value.code() is grpc.StatusCode.OUT_OF_RANGE
    assert caught.value.details() == "50% ä\nend"


def test_unknown_method(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        stock.unary_unary("/test.Service/Other")(b"", timeout=TIMEOUT_SECS)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_compressed_message_is_refused(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        call(stock, b"x" * 1_000, compression=grpc.Compression.Gzip)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "must not be compressed. Received: grpc-encoding='gzip'" in caught.value.details()


def test_message_that_is_too_large_is_refused(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        call(stock, bytes(20_000_001))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "at most 20000000 bytes" in caught.value.details()


@pytest.mark.parametrize(
    ("prefix", "message"),
    [(b"", b""), (b"\0\0\0", b""), (b"\0\0\0\0\x02", b"x"), (b"", b"\0" * 11)],
)
def test_body_that_is_not_one_message_is_refused(running, prefix, message):
    with h2_client(running) as client:
        headers, _ = client.finish(client.send(message, prefix=prefix))
    assert headers["grpc-status"] == "13"
    assert "one whole message" in headers["grpc-message"]


def test_malformed_timeout_is_refused(running):
    with h2_client(running) as client:
        headers, _ = client.finish(client.send(b"", headers=[*HEADERS, ("grpc-timeout", "9x")]))
    assert headers["grpc-status"] == "13"


@pytest.mark.parametrize(
    ("changed", "status"),
    [(("content-type", "application/json"), "415"), ((":method", "GET"), "405")],
)
def test_request_that_is_not_grpc_gets_an_http_status(running, changed, status):
    headers = list({**dict(HEADERS), changed[0]: changed[1]}.items())
    with h2_client(running) as client:
        headers, _ = client.finish(client.send(b"", headers=headers))
    assert headers[":status"] == status


def test_padding_is_left_out(running):
    with h2_client(running) as client:
        _, body = client.finish(client.send(b"abc", pad_length=99))
    assert body[5:] == b"abc"


def test_headers_in_several_frames(running):
    long = [(f"key-{number}", "v" * 2_000) for number in range(6)]
    with h2_client(running) as client:
        client.connection.max_outbound_frame_size = 5_000
        _, body = client.finish(client.send(b"abc", headers=[*HEADERS, *long]))
    assert body[5:] == b"abc"


def test_call_that_the_client_gives_up_is_cancelled(running):
    before = running.service.num_cancelled
    with h2_client(running) as client:
        stream_id = client.send(b"wait")
        client.connection.reset_stream(stream_id, 8)
        client.flush()
        client.finish(client.send(b"after"))
        client.send(b"wait")
    harness.wait_until(lambda: running.service.num_cancelled >= before + 1)


def test_drain_finishes_what_has_begun_and_refuses_the_rest():
    with listen() as running, grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        begun = channel.unary_unary(PATH).future(b"wait", timeout=TIMEOUT_SECS)
        harness.wait_until(lambda: running.service.num_begun == 1)
        draining = asyncio.run_coroutine_threadsafe(running.server.drain(20.0), running.loop)
        harness.wait_until(lambda: not running.server.is_serving)
        with pytest.raises(grpc.RpcError) as caught:
            call(channel, b"late")
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        running.open_gate()
        assert begun.result() == b"wait"
        draining.result(TIMEOUT_SECS)


def read_goodbye(port, data):
    """Sends bytes; returns the error code of GOAWAY, or None if there was none."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECS) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(1 << 16):
                received += piece
    reader = http2_wire.FrameReader(1 << 24)
    reader._has_preface = True
    codes = [
        struct.unpack(">I", payload[4:8])[0]
        for kind, _, _, payload in reader.feed(received)
        if kind == http2_wire.GOAWAY
    ]
    return codes[0] if codes else None


BLOCK = http2_wire.literal_headers(*[(n.encode(), v.encode()) for n, v in HEADERS])
OPEN = http2_wire.frame(http2_wire.HEADERS, http2_wire.END_HEADERS, 1, BLOCK)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 1),
        (http2_wire.PREFACE + OPEN, 1),
        (GREETING + http2_wire.frame(http2_wire.DATA, 0, 1, b"x"), 1),
        (GREETING + http2_wire.frame(http2_wire.HEADERS, 4, 2, BLOCK), 1),
        (GREETING + http2_wire.frame(http2_wire.HEADERS, 4, 0, BLOCK), 1),
        (GREETING + http2_wire.frame(http2_wire.HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), 9),
        (GREETING + http2_wire.frame(http2_wire.HEADERS, 0, 1, BLOCK) + SETTINGS, 1),
        (GREETING + OPEN + OPEN, 1),
        (GREETING + OPEN + http2_wire.frame(http2_wire.DATA, 8, 1, b"\x09x"), 1),
        (GREETING + http2_wire.frame(http2_wire.CONTINUATION, 4, 1, BLOCK), 1),
        (GREETING + http2_wire.frame(http2_wire.PING, 0, 0, b"short"), 6),
        (GREETING + http2_wire.frame(http2_wire.SETTINGS, 0, 0, b"short"), 6),
        (GREETING + http2_wire.settings({http2_wire.Setting.INITIAL_WINDOW_SIZE: 2**31}), 3),
        (GREETING + http2_wire.settings({http2_wire.Setting.MAX_FRAME_SIZE: 5}), 1),
        (GREETING + http2_wire.frame(http2_wire.WINDOW_UPDATE, 0, 0, bytes(4)), 1),
        (GREETING + http2_wire.frame(http2_wire.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), 3),
        (GREETING + http2_wire.frame(http2_wire.PUSH_PROMISE, 4, 1, BLOCK), 1),
        (GREETING + http2_wire.frame(http2_wire.RST_STREAM, 0, 7, bytes(4)), 1),
        (GREETING + b"\xff\xff\xff\0\0\0\0\0\x01", 6),
    ],
)
def test_broken_rules_end_the_connection_with_their_code(running, data, code):
    assert read_goodbye(running.port, data) == code


def test_header_blocks_without_end_are_cut_off(running):
    start = http2_wire.frame(http2_wire.HEADERS, 0, 1, BLOCK)
    more = http2_wire.frame(http2_wire.CONTINUATION, 0, 1, b"\0" * 1_000)
    assert read_goodbye(running.port, GREETING + start + more * 20) == 11


def test_more_calls_at_once_than_agreed_end_the_connection(running):
    wait = b"\0\0\0\0\x04wait"
    calls = b"".join(
        http2_wire.frame(http2_wire.HEADERS, 4, number, BLOCK)
        + http2_wire.frame(http2_wire.DATA, 1, number, wait)
        for number in range(1, 2_003, 2)
    )
    assert read_goodbye(running.port, GREETING + calls) == 11


def test_calls_opened_and_given_up_without_end_are_cut_off(running):
    calls = b"".join(
        http2_wire.frame(http2_wire.HEADERS, 4, number, BLOCK)
        + http2_wire.frame(http2_wire.RST_STREAM, 0, number, bytes(4))
        for number in range(1, 2_003, 2)
    )
    assert read_goodbye(running.port, GREETING + calls) == 11


def test_what_only_grpcio_can_do_is_refused_with_it():
    with pytest.raises(pydantic.ValidationError, match="are for grpcio"):
        config.ServerConfig(
            model_base_path="m", grpc_frontend="http2", grpc_channel_arguments="a=1"
        )


def test_random_frames_harm_nobody(running, stock):
    source = random.Random(4)
    for _ in range(500):
        data = GREETING
        for _ in range(source.randrange(1, 12)):
            payload = source.choice([BLOCK, source.randbytes(source.randrange(40))])
            kind, flags = source.randrange(11), source.choice([0, 1, 4, 5, 8, 32, 255])
            data += http2_wire.frame(kind, flags, source.randrange(6), payload)
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(data)
    assert call(stock, b"still here") == b"still here"
    harness.wait_until(lambda: len(running.server.connections) <= 1)
