"""Publishes a model: a numbered folder that appears whole or not at all."""

import contextlib
import dataclasses
import fcntl
import pathlib
import shutil
from collections.abc import Iterator

from serving.export import atomic_folder

_LOCK_FILE = ".lock"
_MANIFEST_FILE = "kerasline.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published:
    """A version that is there for a server to load.

    Attributes:
        path: Absolute folder of the SavedModel.
        version: Its number; a server takes the highest.
        is_new: False if the newest version held the same model already.
    """

    path: pathlib.Path
    version: int
    is_new: bool


def publish(model_dir: str | pathlib.Path, published_dir: str | pathlib.Path) -> Published:
    """Copies a SavedModel to the next version folder under `published_dir`.

    The copy is written under a hidden name on the same file system, every file and folder is
    flushed to the disk, and only then does it get its number. Several processes may publish at
    once: each gets a number of its own. What a killed publisher left behind is removed.

    Args:
        model_dir: Folder of a SavedModel.
        published_dir: Folder of the versions; made if it is not there.

    Raises:
        ValueError: If `published_dir` is an address and not a folder.
        FileNotFoundError: If `model_dir` holds no SavedModel.
    """
    if "://" in str(published_dir):
        raise ValueError(
            "`published_dir` must be a folder, for an object store cannot make a version appear as "
            f"a whole. Received: published_dir={str(published_dir)!r}. Mount a shared folder."
        )
    source, target = pathlib.Path(model_dir), pathlib.Path(published_dir).absolute()
    if not (source / "saved_model.pb").is_file():
        raise FileNotFoundError(
            f"`model_dir` must hold a SavedModel. Received: model_dir={str(source)!r}, "
            "which has no file saved_model.pb. Run the trainer again."
        )
    target.mkdir(parents=True, exist_ok=True)
    with _exclusive(target):
        # Nobody else writes here while this process holds the lock.
        atomic_folder.remove_leftovers(target)
        newest = max(versions(target), default=0)
        if newest and _same_model(source, target / str(newest)):
            return Published(path=target / str(newest), version=newest, is_new=False)
        path = target / str(newest + 1)
        with atomic_folder.written_aside(path) as partial:
            shutil.copytree(source, partial, dirs_exist_ok=True)
    return Published(path=path, version=newest + 1, is_new=True)


def versions(published_dir: pathlib.Path) -> list[int]:
    """Returns the published version numbers, in rising order."""
    if not published_dir.is_dir():
        return []
    return sorted(int(path.name) for path in published_dir.iterdir() if path.name.isdecimal())


@contextlib.contextmanager
def _exclusive(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other publishers out; the lock ends with the process, however it ends."""
    with open(folder / _LOCK_FILE, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _same_model(model_dir: pathlib.Path, published: pathlib.Path) -> bool:
    """Tells by the manifest, which holds the digest of every file."""
    manifest, published_manifest = model_dir / _MANIFEST_FILE, published / _MANIFEST_FILE
    if not (manifest.is_file() and published_manifest.is_file()):
        return False
    return manifest.read_bytes() == published_manifest.read_bytes()
