"""Recognises requests whose head repeats that of an earlier one on the same connection.

A client that keeps its connection sends the same head before each body, but for the length. Parsing
it again takes a tenth of a small request's time.
"""

import re
from collections.abc import Mapping

from serving.server import http_messages

_MAX_HEAD_BYTES = 4 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)(?=\r\n)", re.IGNORECASE)
_MAX_DIGITS = 12
# Headers that change how the rest of the connection is read.
_SPECIAL = frozenset({"transfer-encoding", "expect", "upgrade", "connection"})


class RepeatedHead:
    """The last head of a connection that a POST with a plain body had."""

    __slots__ = ("_end", "_headers", "_start", "_target")

    def __init__(self) -> None:
        self._start = b""  # Up to the number of its Content-Length; empty: there is none yet.
        self._end = b""  # After the number.
        self._target = ""
        self._headers: Mapping[str, str] = {}

    def learn(self, data: bytes, target: str, headers: Mapping[str, str]) -> None:
        """Remembers the head of a POST.

        Args:
            data: One whole request, as it came.
            target: What the parser made of its head.
            headers: The same; their names are in lower case.
        """
        size = data.find(b"\r\n\r\n") + 4
        if not 4 <= size <= _MAX_HEAD_BYTES or not _SPECIAL.isdisjoint(headers):
            return
        head = data[:size]
        lengths = list(_LENGTH.finditer(head))
        if len(lengths) != 1 or int(lengths[0][1]) != len(data) - size:
            return
        self._start, self._end = head[: lengths[0].start(1)], head[lengths[0].end(1) :]
        self._target, self._headers = target, headers

    def match(self, data: bytes, *, max_body_bytes: int) -> http_messages.Request | None:
        """Returns the request, if `data` is one whole request with the remembered head."""
        start = len(self._start)
        if not start or not data.startswith(self._start):
            return None
        stop = data.find(b"\r", start, start + _MAX_DIGITS)
        digits = data[start:stop]
        if not digits.isdigit() or not data.startswith(self._end, stop):
            return None
        body = data[stop + len(self._end) :]
        if len(body) != int(digits) or len(body) > max_body_bytes:
            return None
        headers = self._headers
        if headers["content-length"] != (length := digits.decode()):
            headers = {**headers, "content-length": length}
        return http_messages.Request("POST", self._target, headers, body)
