"""Digests of source files, quick for files that did not change since they were last read."""

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from components.ingest import resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources.files import SourceFile

ABSENT = "absent"

_TABLE = "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, stamp TEXT, sha256 TEXT)"
# A file changed within the clock's grain after it was hashed could keep its stamp.
_SETTLED_SECS = 2.0


def source_digest(data: DataConfig, cache_dir: Path) -> str:
    """Returns a digest of the source's bytes as they are on this machine now; nothing is fetched.

    Returns:
        SHA-256 in hex, or "absent" if there is no local copy: an ingest would fetch one.

    Raises:
        DataError: If the source cannot exist, such as a path that is not there.
    """
    source = resolve.find_local(data, cache_dir)
    return ABSENT if source is None else files_digest(source.files(), cache_dir)


def files_digest(files: Mapping[str, Path | SourceFile], cache_dir: Path) -> str:
    """Returns one digest over the names and bytes of files, in order; where they lie is no part.

    A file that only a URI names counts by its size and when it was written, so that it is not read
    twice.

    Raises:
        DataError: If a file cannot be read.
    """
    total = hashlib.sha256()
    with _cache(cache_dir) as cache:
        for name, path in files.items():
            total.update(f"{name} {_file_digest(path, cache)}\n".encode())
    return total.hexdigest()


@contextlib.contextmanager
def unchanged(files: Mapping[str, Path | SourceFile]) -> Iterator[None]:
    """Checks that the files are the same after the block as before it, by size and time.

    Raises:
        DataError: If one is gone or was written meanwhile.
    """
    before = {name: _stamp(path) for name, path in files.items()}
    yield
    for name, path in files.items():
        if (after := _stamp(path)) != before[name]:
            happened = "is gone" if after is None else "was written"
            raise DataError(
                f"Expected the source to stay as it is while it is read. Received: {name}, which "
                f"{happened} meanwhile. Run again when nothing writes to it."
            )


def _stamp(path: Path | SourceFile) -> str | None:
    try:
        if isinstance(path, SourceFile):
            return path.stamp()
        status = path.stat()
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


@contextlib.contextmanager
def _cache(cache_dir: Path) -> Iterator[sqlite3.Connection]:
    """Opens the table of known digests, or an empty one if the cache cannot be written."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(cache_dir / "file_digests.sqlite", timeout=30)
        connection.execute(_TABLE)
    except (OSError, sqlite3.Error):
        connection = sqlite3.connect(":memory:")
        connection.execute(_TABLE)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()


def _file_digest(path: Path | SourceFile, cache: sqlite3.Connection) -> str:
    try:
        if isinstance(path, SourceFile):
            return path.stamp()
        return _known_or_read(path, cache)
    except OSError as error:
        raise DataError(
            f"Expected to read {error.filename}, but: {error.strerror or error}. "
            "Restore the file, or take it out of the source."
        ) from error


def _known_or_read(path: Path, cache: sqlite3.Connection) -> str:
    status = path.stat()
    stamp = json.dumps([status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev])
    name = str(path.absolute())
    known = cache.execute("SELECT sha256 FROM files WHERE path = ? AND stamp = ?", (name, stamp))
    if row := known.fetchone():
        return row[0]
    with open(path, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time() - status.st_mtime > _SETTLED_SECS:
        cache.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (name, stamp, sha256))
    return sha256
