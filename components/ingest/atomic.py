"""Folders that appear whole or not at all, and a lock between processes."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from components.ingest.errors import DataError

_PART_SUFFIX = ".part"


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the lock file `path`; another process waits for it. It ends with the process.

    Raises:
        DataError: If the lock file cannot be made.
    """
    with cannot_write(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """Gives an empty folder that becomes `final` if the block ends well, and is removed if not.

    Everything in it is on disk before the rename. The caller holds a lock for `final`, so a
    leftover of a process that was killed is nobody's, and is removed first.
    """
    part = final.with_name(final.name + _PART_SUFFIX)
    shutil.rmtree(part, ignore_errors=True)
    try:
        with cannot_write(final.parent):
            part.mkdir(parents=True)
            yield part
            fsync_tree(part)
            part.rename(final)
            _fsync(final.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def cannot_write(folder: Path) -> Iterator[None]:
    """Turns the operating system's refusal to write into a sentence with the cure.

    Raises:
        DataError: If the block raised an OSError that says so.
    """
    try:
        yield
    except PermissionError as error:
        raise DataError(_write_sentence(folder, "it may not be written", error)) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(_write_sentence(folder, reason.lower(), error)) from error


def _write_sentence(folder: Path, reason: str, error: OSError) -> str:
    name = error.filename or folder
    return (
        f"Expected to write the dataset under {folder}, but {reason}. Received: path={name}. "
        "Free some space there, or set XDG_CACHE_HOME to a folder with room that you may write."
    )


def fsync_tree(folder: Path) -> None:
    """Makes every file and folder under `folder` durable."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _fsync(Path(parent, name))
        _fsync(Path(parent))


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
