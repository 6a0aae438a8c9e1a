"""TFRecord files: each record is a length, its checksum, the data, and the data's checksum.

The length is uint64, the checksums are masked CRC-32C in uint32, all little-endian.
"""

import functools
import hashlib
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import google_crc32c

from components.ingest.errors import DataError

_MASK_DELTA = 0xA282EAD8
# Each open shard has one, so it is small.
_BUFFER_BYTES = 1 << 17
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
_CURE = "Fetch the file again."

HEADER_BYTES = _HEADER.size


def masked_crc32c(data: bytes) -> int:
    """Returns the CRC-32C of `data`, rotated and shifted as the TFRecord format asks."""
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def frame_record(data: bytes) -> bytes:
    """Returns `data` as one TFRecord."""
    return b"".join((_header(len(data)), data, _FOOTER.pack(masked_crc32c(data))))


@functools.lru_cache(1 << 14)
def _header(size: int) -> bytes:
    length = _LENGTH.pack(size)
    return length + _FOOTER.pack(masked_crc32c(length))


class RecordWriter:
    """Writes one uncompressed TFRecord file and knows its size and SHA-256 when it is done.

    The file is created at the first record, so that a shard without rows leaves no file.
    """

    def __init__(self, path: Path):
        self.path = path
        self.num_records = 0
        self.num_bytes = 0
        self._sha256 = hashlib.sha256()
        self._file: BinaryIO | None = None
        self._waiting: list[bytes] = []
        self._num_written = 0

    def write(self, data: bytes) -> None:
        """Appends one record."""
        record = frame_record(data)
        self._waiting.append(record)
        self.num_records += 1
        self.num_bytes += len(record)
        if self.num_bytes - self._num_written >= _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._file is None:
            self._file = self.path.open("xb")
        records = b"".join(self._waiting)
        self._file.write(records)
        # Hashing thousands of small records one by one costs more than hashing their bytes.
        self._sha256.update(records)
        self._waiting, self._num_written = [], self.num_bytes

    def close(self) -> None:
        """Writes what is left and closes the file; whoever renames its folder makes it durable."""
        self._flush()
        if self._file is not None:
            self._file.close()

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the closed file."""
        return self._sha256.hexdigest()


def read_records(path: Path, *, step: int = 1) -> Iterator[bytes]:
    """Yields every `step`-th record of an uncompressed TFRecord file, checking its checksums.

    Raises:
        DataError: If the file ends within one of them or a checksum does not fit.
    """
    with path.open("rb") as file:
        index = 0
        while header := file.read(_HEADER.size):
            if index % step == 0:
                yield _read_whole(file, header, f"{path}, record {index}")
            else:
                file.seek(_LENGTH.unpack_from(header)[0] + _FOOTER.size, os.SEEK_CUR)
            index += 1


def read_record(path: Path, index: int) -> bytes:
    """Returns one record of an uncompressed TFRecord file, skipping those before it.

    Raises:
        DataError: If the file ends before it, or a checksum does not fit.
    """
    with path.open("rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            position = 0
            for _ in range(index):
                position += _LENGTH.unpack_from(data, position)[0] + _HEADER.size + _FOOTER.size
        file.seek(position)
        return _read_whole(file, file.read(_HEADER.size), f"{path}, record {index}")


def is_header(start: bytes) -> bool:
    """Says whether bytes are the whole head of a record, whose checksum fits its length."""
    if len(start) < HEADER_BYTES:
        return False
    return masked_crc32c(start[: _LENGTH.size]) == _HEADER.unpack_from(start)[1]


def read_bodies(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yields each record of a stream followed by its checksum, which `checked_data` compares.

    Args:
        file: The stream, from its beginning.
        name: What messages call it.

    Raises:
        DataError: If it ends within a record, or a length is damaged, so that nothing after it can
            be found.
    """
    index = 0
    while header := file.read(_HEADER.size):
        yield _read_body(file, header, f"{name}, record {index}")
        index += 1


def checked_data(body: bytes) -> bytes | None:
    """Returns the data of a record that `read_bodies` gave, None if it is damaged."""
    data = body[: -_FOOTER.size]
    intact = masked_crc32c(data) == _FOOTER.unpack(body[-_FOOTER.size :])[0]
    return data if intact else None


def _read_whole(file: BinaryIO, header: bytes, where: str) -> bytes:
    data = checked_data(_read_body(file, header, where))
    if data is None:
        raise DataError(f"Expected intact data at {where}; its checksum is wrong. {_CURE}")
    return data


def _read_body(file: BinaryIO, header: bytes, where: str) -> bytes:
    if len(header) < _HEADER.size:
        raise DataError(f"Expected a whole TFRecord at {where}; the file is truncated. {_CURE}")
    if not is_header(header):
        raise DataError(f"Expected a TFRecord at {where}; its length checksum is wrong. {_CURE}")
    length = _LENGTH.unpack_from(header)[0]
    body = file.read(length + _FOOTER.size)
    if len(body) < length + _FOOTER.size:
        raise DataError(f"Expected a whole TFRecord at {where}; the file is truncated. {_CURE}")
    return body
