"""Cuts a CSV file into blocks of whole records, and says in which line each of them begins."""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from components.ingest.errors import DataError
from components.ingest.sources import files

_CHUNK_BYTES = 1 << 19
# A quote that is still open after this much text was never meant as one.
_MAX_RECORD_BYTES = 64 << 20
_UTF8 = "utf-8"


class Records(NamedTuple):
    """Whole records of a file, whose first one begins in the line `first_line`."""

    first_line: int
    data: bytes


def read_records(file: files.SourceFile, *, delimiter: str, encoding: str) -> Iterator[Records]:
    """Yields the records of a file in blocks of about 512 KiB, as UTF-8 without a byte order mark.

    Bytes that are no UTF-8 are kept if that is the encoding, so that only their rows are lost.

    Raises:
        DataError: If the file cannot be read, is not in the encoding, or leaves a quote open.
    """
    pattern = quoted_values(delimiter)
    rest, line = b"", 1
    for chunk in _utf8_chunks(file, encoding):
        rest += chunk
        end = _end_of_records(rest, pattern)
        if end:
            yield Records(line, rest[:end])
            line += rest.count(b"\n", 0, end)
            rest = rest[end:]
        elif len(rest) > _MAX_RECORD_BYTES:
            raise DataError(_open_quote_sentence(file, line))
    if rest:
        if _has_open_quote(rest, pattern):
            raise DataError(_open_quote_sentence(file, line))
        yield Records(line, rest)


def quoted_values(delimiter: str) -> re.Pattern[bytes]:
    """Returns a pattern of values in quotes, whose group 1 is empty if the quotes are not closed.

    A quote within a value that has none around it, as in `5" pipe`, does not count.
    """
    start = re.escape(delimiter.encode()) + rb"\n"
    return re.compile(rb'"(?:(?<=[' + start + rb']")|(?<=\A"))(?:[^"]++|"")*+("?)')


def line_offsets(data: bytes, pattern: re.Pattern[bytes]) -> np.ndarray:
    """Returns how many lines after the first one each record begins; empty lines are no records."""
    ends_L = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    if not data.endswith(b"\n"):
        ends_L = np.append(ends_L, len(data))
    is_end_L = np.ones(len(ends_L), bool)
    if b'"' in data:
        spans = np.array([value.span() for value in pattern.finditer(data)], np.int64)
        firsts, lasts = np.searchsorted(ends_L, spans.reshape(-1, 2)).T
        for index in np.flatnonzero(firsts < lasts).tolist():
            is_end_L[firsts[index] : lasts[index]] = False
    lines_R = np.flatnonzero(is_end_L)
    starts_R = np.append(0, lines_R[:-1] + 1)
    text_starts_R = np.append(0, ends_L[lines_R[:-1]] + 1)
    lengths_R = ends_L[lines_R] - text_starts_R
    returns_R = np.frombuffer(data + b"\n", np.uint8)[text_starts_R] == ord("\r")
    return starts_R[(lengths_R > 1) | ((lengths_R == 1) & ~returns_R)]


def _utf8_chunks(file: files.SourceFile, encoding: str) -> Iterator[bytes]:
    codec = _lookup(encoding)
    chunks = files.chunks(file, _CHUNK_BYTES)
    if codec.name not in (_UTF8, "utf-8-sig"):
        chunks = _recode(file, chunks, codec)
    is_first, old_ends = True, False
    for chunk in chunks:
        if is_first:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
            old_ends = b"\r" in chunk and b"\n" not in chunk
            is_first = False
        yield chunk.replace(b"\r", b"\n") if old_ends else chunk


def _lookup(encoding: str) -> codecs.CodecInfo:
    try:
        # Python's other codecs, such as base64, are refused here.
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        return codecs.lookup(encoding)
    except (LookupError, ValueError) as error:
        raise DataError(
            "Expected data.source.encoding to be one that Python knows, such as utf-8, latin-1, "
            f"cp1252 or utf-16. Received: encoding={json.dumps(encoding)}."
        ) from error


def _recode(
    file: files.SourceFile, chunks: Iterator[bytes], codec: codecs.CodecInfo
) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(codec.name)()
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", True).encode()
    except UnicodeError as error:
        raise DataError(
            f"Expected {file.uri} to be in {codec.name}, as data.source.encoding says, but: "
            f"{error}. Name its true encoding."
        ) from error


def _end_of_records(data: bytes, pattern: re.Pattern[bytes]) -> int:
    """Returns where the last record that is whole for certain ends, 0 if there is none."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    values = list(pattern.finditer(data))
    # The next byte could be a second quote, so quotes at the very end are not closed for certain.
    is_open = values and (not values[-1].group(1) or values[-1].end() == len(data))
    end = data.rfind(b"\n", 0, values.pop().start() if is_open else len(data))
    for value in reversed(values):
        if value.end() <= end:
            break
        if value.start() < end:
            end = data.rfind(b"\n", 0, value.start())
    return end + 1


def _has_open_quote(data: bytes, pattern: re.Pattern[bytes]) -> bool:
    return any(not value.group(1) for value in pattern.finditer(data))


def _open_quote_sentence(file: files.SourceFile, line: int) -> str:
    return (
        f"Expected the quotes in {file.uri} to be closed. Received: a value that begins with a "
        f"quote in or after line {line} and does not end with one. Close it, or double the quotes "
        "that belong to the value."
    )
