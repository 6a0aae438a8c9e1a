"""Requests whose head repeats an earlier one; the oracle is what the parser makes of them."""

import httptools
import pytest

from serving.server import http_heads

HEAD = (
    "POST /v1/models/m:predict?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nAccept: */*\r\n\r\n"
)


class Parsed:
    """What httptools says of one request."""

    def __init__(self, data: bytes):
        self.target, self.headers, self.body = "", {}, b""
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method = parser.get_method().decode()

    def on_url(self, url):
        self.target += url.decode()

    def on_header(self, name, value):
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body):
        self.body += body


def request(body: bytes, head: str = HEAD) -> bytes:
    return head.format(len(body)).encode() + body


def learned(data: bytes) -> http_heads.RepeatedHead:
    repeated = http_heads.RepeatedHead()
    parsed = Parsed(data)
    repeated.learn(data, parsed.target, parsed.headers)
    return repeated


def test_nothing_matches_before_a_head_is_learned():
    repeated = http_heads.RepeatedHead()
    assert repeated.match(request(b"abc"), max_body_bytes=100) is None


@pytest.mark.parametrize("body", [b"", b"xyz", b"a" * 1_000, b"\r\n\r\n"])
@pytest.mark.parametrize("head", [HEAD, HEAD.replace("Length: {}", "length:{}"), "\r\n" + HEAD])
def test_repeated_head_is_read_as_the_parser_reads_it(head, body):
    found = learned(request(b"abc", head)).match(request(body, head), max_body_bytes=1_000)
    expected = Parsed(request(body, head))
    assert found == (expected.method, expected.target, expected.headers, expected.body)


@pytest.mark.parametrize(
    "data",
    [
        request(b"abc")[:-1],
        request(b"abc") + b"d",
        request(b"abc") + request(b"abc"),
        request(b"abc", HEAD.replace("POST", "PUT")),
        request(b"abc", HEAD.replace("Host: a", "Host: b")),
        request(b"abc", HEAD.replace("*/*", "*/*\r\nConnection: close")),
        request(b"abc", HEAD.replace("{}", "+{}")),
        request(b"abc", HEAD.replace("{}", "{} 0")),
        request(b"abc", HEAD.replace("{}", "")),
        request(b"a" * 101),
        HEAD.format("9" * 5_000).encode() + b"abc",
        b"",
    ],
)
def test_anything_else_is_left_to_the_parser(data):
    assert learned(request(b"abc")).match(data, max_body_bytes=100) is None


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace("Host: a", "Connection: close"),
        HEAD.replace("Host: a", "Expect: 100-continue"),
        HEAD.replace("Host: a", "X: " + "x" * 5_000),
        HEAD.replace("{}", "{} "),
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
    ids=["close", "expect", "large", "blank", "chunked", "no_length"],
)
def test_head_that_says_more_than_a_length_is_not_learned(head):
    data = request(b"" if "{}" not in head else b"abc", head)
    assert learned(data).match(data, max_body_bytes=100) is None
