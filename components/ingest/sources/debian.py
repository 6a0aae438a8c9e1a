"""Datasets that Debian packages as files: the same data as TFDS's, without asking its servers.

Fetching needs no root: the package is downloaded and verified by apt, and unpacked into the cache.
"""

import dataclasses
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from components.ingest import atomic
from components.ingest.sources.idx import IdxSource

_TIMEOUT_SECS = 180
_BOUNDED = (
    "-o=Acquire::Retries=1",
    "-o=Acquire::http::Timeout=10",
    "-o=Acquire::https::Timeout=10",
)


@dataclasses.dataclass(frozen=True)
class DebianPackage:
    """A package whose `folder` holds IDX files."""

    package: str
    folder: str  # Relative to the root of the file system.


# By the name that TFDS gives the same data.
PACKAGES = {
    "fashion_mnist": DebianPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist"),
}

_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}


class FetchError(Exception):
    """The package could not be had; the message says why."""


def find_installed(name: str, cache_dir: Path, *, root: Path = Path("/")) -> IdxSource | None:
    """Finds the files where the system's package puts them, or where `fetch` put them.

    Args:
        name: The name of the dataset in TFDS.
        cache_dir: The folder that `fetch` was given.
        root: The root of the file system in which packages are installed.
    """
    package = PACKAGES.get(name)
    if package is None:
        return None
    for place in (root, _unpacked(package, cache_dir)):
        source = find_idx(place / package.folder, origin=f"Debian package {package.package}")
        if source is not None:
            return source
    return None


def find_idx(folder: Path, *, origin: str) -> IdxSource | None:
    """Returns the four IDX files of `folder`, or None unless they are all there."""
    pairs = {
        split: (folder / images, folder / labels) for split, (images, labels) in _FILES.items()
    }
    if all(path.is_file() for pair in pairs.values() for path in pair):
        return IdxSource(pairs, origin)
    return None


def fetch(name: str, cache_dir: Path) -> None:
    """Downloads and unpacks the package for `find_installed` to find.

    Raises:
        FetchError: If this is not a Debian system, or apt cannot reach its servers.
        DataError: If `cache_dir` cannot be written.
    """
    package = PACKAGES[name]
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise FetchError("this system has no apt-get")
    final = _unpacked(package, cache_dir)
    with atomic.exclusive(final.with_name(final.name + ".lock")):
        if not final.exists():
            with atomic.new_folder(final) as folder:
                _download(package.package, folder)


def _download(package: str, folder: Path) -> None:
    try:
        _run(["apt-get", "download", *_BOUNDED, package], cwd=folder)
    except FetchError:
        # A fresh system has no package lists; private ones need no root.
        _download_with_own_lists(package, folder)
    (archive,) = folder.glob("*.deb")
    _run(["dpkg", "-x", str(archive), str(folder)], cwd=folder)
    archive.unlink()


def _download_with_own_lists(package: str, folder: Path) -> None:
    state = folder / "apt"
    (state / "lists" / "partial").mkdir(parents=True)
    (state / "cache" / "archives" / "partial").mkdir(parents=True)
    private = [
        f"-o=Dir::State::Lists={state / 'lists'}",
        f"-o=Dir::Cache={state / 'cache'}",
        "-o=Debug::NoLocking=1",
        *_BOUNDED,
    ]
    _run(["apt-get", "update", *private], cwd=folder)
    _run(["apt-get", "download", *private, package], cwd=folder)
    shutil.rmtree(state)


def _run(command: Sequence[str], *, cwd: Path) -> None:
    try:
        subprocess.run(
            command,
            cwd=cwd,
            check=True,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"{command[0]} did not finish within {_TIMEOUT_SECS} s") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or ["no message"]
        raise FetchError(f"{command[0]} said: {lines[-1]}") from error


def _unpacked(package: DebianPackage, cache_dir: Path) -> Path:
    return cache_dir / "debian" / package.package
