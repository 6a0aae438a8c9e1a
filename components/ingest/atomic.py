"""Folders that appear whole or not at all, and a lock between processes."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from components.ingest.errors import DataError
from serving.export import atomic_folder


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
    with cannot_write(final.parent):
        atomic_folder.remove_leftovers(final.parent, final.name)
        with atomic_folder.written_aside(final) as part:
            yield part


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Gives a file that is never changed another name, without copying where the disk can.

    A target that is there already is kept.
    """
    try:
        Path(target).hardlink_to(source)
    except FileExistsError:
        return
    except OSError:
        # Another file system, or one without hard links.
        shutil.copyfile(source, target)


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
