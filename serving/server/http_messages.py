"""What an HTTP handler is given and what it returns."""

import functools
import gzip
import http
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from serving.server import errors, json_output

_MIN_GZIP_BYTES = 1_024
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's way to say: gzip only.


class Request(NamedTuple):
    """One whole request; header names are in lower case."""

    method: str
    target: str  # As sent: the path and perhaps a query, percent-encoded.
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


class Response(NamedTuple):
    """One answer."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def error_response(error: errors.ServingError) -> Response:
    """Returns the answer to a request that failed."""
    return Response(errors.http_status(error.code), json_output.error_body(error.message))


def refusal(status: int, message: str) -> Response:
    """Returns an answer with an HTTP status of its own, such as 413."""
    return Response(status, json_output.error_body(message))


def inflate(body: bytes, *, max_bytes: int) -> bytes:
    """Returns the contents of a gzip body.

    Raises:
        ServingError: INVALID_ARGUMENT if it is not gzip, or inflates to more than `max_bytes`: a
            kilobyte can claim a megabyte.

    >>> inflate(gzip.compress(b"abc"), max_bytes=3)
    b'abc'
    """
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        data = inflater.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise errors.invalid("The request body is not gzip, as its header says.") from error
    if len(data) > max_bytes:
        raise errors.invalid(f"The request body inflates to more than {max_bytes} bytes.")
    if not inflater.eof or inflater.unused_data:
        raise errors.invalid("The request body is not one whole gzip file.")
    return data


def to_bytes(response: Response, request: Request | None, *, keep_alive: bool) -> bytes:
    """Returns the answer as it goes over the wire, compressed if that is wanted and worth it."""
    status, body, content_type, headers = response
    accepted = request.headers.get("accept-encoding", "") if request else ""
    if len(body) >= _MIN_GZIP_BYTES and "gzip" in accepted:
        body = gzip.compress(body, compresslevel=1)
        headers = (*headers, ("Content-Encoding", "gzip"))
    start = _head_start(status, (("Content-Type", content_type), *headers))
    end = b"\r\n" if keep_alive else b"\r\nConnection: close\r\n"
    is_head = request is not None and request.method == "HEAD"
    return b"%b%d%b\r\n%b" % (start, len(body), end, b"" if is_head else body)


# There are few kinds of answers.
@functools.lru_cache(maxsize=256)
def _head_start(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Returns an answer's head up to the number of its Content-Length."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    text = f"HTTP/1.1 {status} {_phrase(status)}\r\n{lines}Content-Length: "
    return text.encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request" if status == 499 else "Unknown"
