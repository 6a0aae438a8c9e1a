"""Folders that appear whole or not at all."""

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

_SUFFIX = ".partial"


@contextlib.contextmanager
def written_aside(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives an empty folder beside `target` that takes its name once its files are on disk.

    If the body raises, or the process dies, nothing appears under `target`.

    Args:
        target: The folder to make; it must not exist, or be empty.

    Raises:
        FileExistsError: If `target` is there and holds something, or is not a folder.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(
            "The target must be a new or an empty folder. "
            f"Received: target={str(target)!r}, which is there already. Choose another name or "
            f"remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = pathlib.Path(
        tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=target.parent)
    )
    try:
        yield partial
        partial.chmod(0o755)  # mkdtemp makes it private, but a server may run as another user.
        _sync_tree(partial)
        partial.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove_leftovers(folder: pathlib.Path, name: str = "*") -> None:
    """Removes what killed writers left; the caller sees to it that nobody writes there now.

    Args:
        folder: Where the targets are.
        name: The target's name; any target by default.
    """
    for path in folder.glob(f".{name}.*{_SUFFIX}"):
        shutil.rmtree(path, ignore_errors=True)


def _sync_tree(directory: pathlib.Path) -> None:
    for folder, _, names in os.walk(directory):
        for name in names:
            _sync(pathlib.Path(folder, name))
        _sync(pathlib.Path(folder))


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
