"""Frames that break the rules of HTTP/2, and clients that take more than their share."""

import contextlib
import random
import socket
import struct

import pytest

from serving.server import http2_wire
from tests.serving import harness
from tests.serving.server import http2_clients

SETTINGS = http2_wire.frame(http2_wire.SETTINGS, 0, 0)
GREETING = http2_wire.PREFACE + SETTINGS
HEADERS = [(name.encode(), value.encode()) for name, value in http2_clients.HEADERS]
BLOCK = http2_wire.literal_headers(*HEADERS)
OPEN = http2_wire.frame(http2_wire.HEADERS, http2_wire.END_HEADERS, 1, BLOCK)


@pytest.fixture(scope="module")
def running():
    with http2_clients.listen(max_message_bytes=20_000_000) as server:
        yield server


@pytest.fixture
def stock(running):
    with http2_clients.stock_channel(running) as channel:
        yield channel


def read_goodbye(port, data):
    """Sends bytes; returns the error code of GOAWAY, or None if there was none."""
    with socket.create_connection(
        ("127.0.0.1", port), timeout=http2_clients.TIMEOUT_SECS
    ) as client:
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
    assert http2_clients.call(stock, b"still here") == b"still here"
    harness.wait_until(lambda: len(running.server.connections) <= 1)
