"""HTTP on raw sockets, with a handler that only echoes."""

import asyncio
import contextlib
import gzip
import socket
import threading
import time

import pytest

from serving.server import http_messages, http_protocol
from tests.serving import harness

TIMEOUT_SECS = 30


async def echo(request: http_messages.Request) -> http_messages.Response:
    if request.path == "/fail":
        raise KeyError("a defect")
    if request.path == "/slow":
        await asyncio.sleep(0.3)
    if request.path == "/large":
        return http_messages.Response(200, b"x" * 20_000_000, "text/plain")
    return http_messages.Response(200, f"{request.method} {len(request.body)}".encode())


@contextlib.contextmanager
def listen(**limits):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def on_loop(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(TIMEOUT_SECS)

    async def make():
        server = http_protocol.HttpServer(echo, http_protocol.Limits(**limits))
        return server, await server.start("127.0.0.1", 0)

    server, port = on_loop(make())
    try:
        yield port, server, on_loop
    finally:
        on_loop(server.drain(0.0))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_SECS)
        loop.close()


@pytest.fixture(scope="module")
def port():
    with listen(max_body_bytes=1_000, max_head_bytes=2_000, receive_secs=0.5) as (number, _, _):
        yield number


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECS)


def talk(port, data):
    """Sends bytes, and returns all that comes until the server closes."""
    with connect(port) as client:
        client.sendall(data)
        return read_all(client)


def read_all(client):
    received = b""
    while data := client.recv(65_536):
        received += data
    return received


def head(*lines):
    return "\r\n".join([*lines, "", ""]).encode()


def test_requests_on_one_connection_are_answered_in_their_order(port):
    requests = [head("GET /slow HTTP/1.1"), head("POST /x HTTP/1.1", "Content-Length: 2") + b"ab"]
    answer = talk(port, b"".join(requests) + head("GET / HTTP/1.1", "Connection: close"))
    bodies = [part.split(b"\r\n\r\n")[1] for part in answer.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    assert bodies == [b"GET 0", b"POST 2", b"GET 0"]


def test_repeated_heads_are_answered_like_the_first(port):
    def send(client, body, *, pieces=1):
        data = head("POST /x HTTP/1.1", f"Content-Length: {len(body)}") + body
        size = -(-len(data) // pieces)
        for start in range(0, len(data), size):
            client.sendall(data[start : start + size])
            time.sleep(0.01)
        return client.recv(1_000)

    with connect(port) as client:
        for size, pieces in ((2, 1), (2, 1), (3, 1), (123, 1), (2, 3), (2, 1), (0, 1)):
            assert send(client, b"x" * size, pieces=pieces).endswith(b"POST %d" % size)
        client.sendall(head("GET / HTTP/1.1"))
        assert client.recv(1_000).endswith(b"GET 0")
        assert send(client, b"x" * 2).endswith(b"POST 2")
        assert send(client, b"x" * 1_001).startswith(b"HTTP/1.1 413 ")


def test_http_1_0_is_closed_after_the_answer(port):
    assert talk(port, head("GET / HTTP/1.0")).endswith(b"GET 0")


def test_chunked_bodies_are_joined(port):
    request = head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Connection: close")
    assert talk(port, request + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").endswith(b"POST 5")


def test_expected_continue_is_sent(port):
    request = head(
        "POST / HTTP/1.1", "Content-Length: 1", "Expect: 100-continue", "Connection: close"
    )
    with connect(port) as client:
        client.sendall(request)
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"x")
        assert read_all(client).endswith(b"POST 1")


def test_head_has_no_body(port):
    answer = talk(port, head("HEAD / HTTP/1.1", "Connection: close"))
    assert b"Content-Length: 6" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "data, status",
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"400 Bad Request"),
        (head("POST / HTTP/1.1", "Content-Length: 1001"), b"413"),
        (head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + b"3e9\r\n" + b"x" * 1_001, b"413"),
        (head(f"GET /{'x' * 3_000} HTTP/1.1"), b"431"),
        (head("GET / HTTP/1.1", *[f"H{n}: {'x' * 90}" for n in range(30)]), b"431"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400 Bad Request"),
    ],
    ids=["tls", "header", "length", "chunks", "target", "headers", "http2"],
)
def test_unreadable_or_too_large_requests_are_refused_and_closed(port, data, status):
    answer = talk(port, data)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"Connection: close" in answer


def test_upgrade_is_ignored_and_the_connection_closed(port):
    answer = talk(port, head("GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: h2c") + b"junk")
    assert answer.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("begun", [b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"])
def test_slow_request_is_given_up(port, begun):
    assert talk(port, begun).startswith(b"HTTP/1.1 408 ")


def test_slow_clients_do_not_hold_up_others(port):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(port)).sendall(b"POST / HTTP/1.1\r\nCont")
        assert talk(port, head("GET / HTTP/1.1", "Connection: close")).endswith(b"GET 0")


def test_defect_in_the_handler_is_500_and_the_connection_lives_on(port):
    answer = talk(port, head("GET /fail HTTP/1.1") + head("GET / HTTP/1.1", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.endswith(b"GET 0")
    assert b"a defect" not in answer


def test_idle_connection_is_closed():
    with listen(idle_secs=0.2) as (port, _, _):
        assert talk(port, head("GET / HTTP/1.1")).endswith(b"GET 0")


def test_client_that_does_not_read_is_dropped():
    with listen(idle_secs=0.2) as (port, server, _), connect(port) as client:
        client.sendall(head("GET /large HTTP/1.1"))
        harness.wait_until(lambda: server.connections)
        harness.wait_until(lambda: not server.connections)


def test_drain_finishes_what_has_begun_and_closes_idle_connections():
    with listen() as (port, server, on_loop), connect(port) as busy, connect(port) as idle:
        idle.sendall(head("GET / HTTP/1.1"))
        assert idle.recv(1_000).endswith(b"GET 0")
        busy.sendall(head("GET /slow HTTP/1.1"))
        harness.wait_until(lambda: any(each._task for each in server.connections))
        on_loop(server.drain(TIMEOUT_SECS))
        answer = read_all(busy)
        assert answer.endswith(b"GET 0")
        assert b"Connection: close" in answer
        assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(port)


def test_gzip_bomb_is_stopped_at_the_limit():
    bomb = gzip.compress(b"\0" * 50_000_000)
    with pytest.raises(Exception, match="inflates to more than 1000000 bytes"):
        http_messages.inflate(bomb, max_bytes=1_000_000)
