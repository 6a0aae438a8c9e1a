"""Writes files so that a reader sees either all of the new content or all of the old."""

import hashlib
import os
import pathlib
import tempfile


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Writes UTF-8 text beside `path`, flushes it to the disk and renames it into place.

    Raises:
        OSError: If the disk is full or read-only; `path` is then as it was.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = pathlib.Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            # mkstemp gives 0600; a summary is for whoever may read the folder.
            os.fchmod(stream.fileno(), 0o644)
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def digest(path: pathlib.Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_tree(folder: pathlib.Path) -> dict[str, str]:
    """Digests of all files below a folder: relative path -> SHA-256, sorted by path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest(path) for path in paths}


def _sync_folder(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
