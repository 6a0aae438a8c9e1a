"""Versions on disk: which folders of a model there are, and whether one is whole."""

import dataclasses
import os
import pathlib

from serving.export import manifest

_GRAPH_NAMES = ("saved_model.pb", "saved_model.pbtxt")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The files of a version folder at one moment; it differs while one is being copied."""

    files: frozenset[tuple[str, int, int]]  # (path, size in bytes, time of change in ns)

    @property
    def newest_ns(self) -> int:
        """When the folder last changed, in nanoseconds since 1970."""
        return max((changed_ns for _, _, changed_ns in self.files), default=0)


def list_versions(base_path: pathlib.Path) -> dict[int, pathlib.Path]:
    """Returns the version folders of a model: those named by a number, such as 00000123.


    Raises:
        FileNotFoundError: If `base_path` is not a folder.
    """
    if not base_path.is_dir():
        raise FileNotFoundError(f"The model's base path must be a folder. Received: {base_path}.")
    versions = {}
    for entry in os.scandir(base_path):
        if entry.name.isascii() and entry.name.isdigit() and entry.is_dir():
            versions[int(entry.name)] = base_path / entry.name
    return versions


def take_snapshot(directory: pathlib.Path) -> Snapshot:
    """Returns what a folder holds now; a file that vanishes meanwhile is left out."""
    files = set()
    for folder, _, names in os.walk(directory):
        for name in names:
            path = pathlib.Path(folder, name)
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            # Not st_mtime, which `cp -p` and rsync set to the original's.
            files.add((str(path), status.st_size, status.st_ctime_ns))
    return Snapshot(frozenset(files))


def is_loadable(
    directory: pathlib.Path, now: Snapshot, before: Snapshot | None, *, quiet_since_ns: int
) -> bool:
    """Tells whether a version folder looks whole.

    A folder with a Kerasline manifest is whole when every file has its digest; checking that is
    left
    to `manifest.check_files`, at load. Any other must have a graph, and not be in the middle of a
    copy: either
    nothing has changed since `quiet_since_ns`, or nothing since the last look.

    Args:
        directory: The version folder.
        now: Its snapshot.
        before: Its snapshot one poll earlier, if there was one.
        quiet_since_ns: Folders last changed before this moment are taken as finished.
    """
    if not any((directory / name).exists() for name in _GRAPH_NAMES):
        return False
    if (directory / manifest.MANIFEST_NAME).exists():
        return True
    return now == before or now.newest_ns < quiet_since_ns
