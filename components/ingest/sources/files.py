"""Files that a recipe names by paths, wildcards or URIs, opened as streams wherever they lie."""

import fnmatch
import functools
import gzip
import importlib.util
import io
import posixpath
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow
import pyarrow.fs

from components.ingest.errors import DataError, nearest

GZIP_MAGIC = b"\x1f\x8b"
_WILDCARDS = frozenset("*?[")
_PACKAGE = "package://"
# Without it, pyarrow tries for a quarter of an hour to find credentials where there are none.
_GCS_RETRY_SECS = 10
_REMOTE_CURE = "Check the name, the network and the credentials that the environment gives."


class SourceFile(NamedTuple):
    """One file; `name` is relative to the folder that the recipe names, `uri` says where it is."""

    name: str
    uri: str

    @property
    def is_local(self) -> bool:
        """Whether the operating system opens it."""
        return "://" not in self.uri

    def stamp(self) -> str:
        """Returns what changes when the file does: its size and when it was written last.

        Raises:
            OSError: If it is not there.
        """
        if self.is_local:
            status = Path(self.uri).stat()
            return f"{status.st_size} {status.st_mtime_ns} {status.st_ino} {status.st_dev}"
        filesystem, path = _filesystem(self.uri)
        (info,) = filesystem.get_file_info([path])
        if not info.is_file:
            raise FileNotFoundError(2, "No such file or directory", self.uri)
        return f"{info.size} {info.mtime_ns}"

    def size_bytes(self) -> int:
        """Returns the size of the file."""
        return int(self.stamp().split()[0])

    def open_random(self) -> Any:
        """Opens the file for reading at any place, as pyarrow's readers ask."""
        if self.is_local:
            return pyarrow.OSFile(self.uri)
        filesystem, path = _filesystem(self.uri)
        return filesystem.open_input_file(path)

    def open_stream(self) -> BinaryIO:
        """Opens the file for reading from its beginning; gzip is undone, whatever the name says.

        Raises:
            DataError: If it cannot be opened.
        """
        try:
            raw = io.BufferedReader(cast(io.RawIOBase, self.open_random()), 1 << 20)
        except OSError as error:
            raise DataError(
                f"Expected to read {self.uri}, but: {error}. "
                "Restore the file, or take it out of data.source."
            ) from error
        if raw.peek(2)[:2] == GZIP_MAGIC:
            return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        return cast(BinaryIO, raw)


def list_files(patterns: Iterable[str]) -> list[SourceFile]:
    """Returns the files that paths with wildcards name, sorted, each once.

    Raises:
        DataError: If a pattern names no file, or a file system cannot be reached.
    """
    patterns = list(patterns)
    uris = sorted({uri for pattern in patterns for uri in _expand(pattern)})
    base = _common_folder(patterns)
    return [SourceFile(_path(uri)[len(base) :].lstrip("/"), uri) for uri in uris]


def _common_folder(patterns: Iterable[str]) -> str:
    """Returns the deepest folder that holds all that the patterns could name.

    It does not depend on which files there are, so that a file's name never changes.
    """
    schemes = {pattern.partition("://")[0] for pattern in patterns if "://" in pattern}
    if len(schemes) + any("://" not in pattern for pattern in patterns) > 1:
        raise DataError(
            "Expected all paths of data.source to be on one file system. "
            f"Received: {', '.join(patterns)}. Copy the files to one place."
        )
    return posixpath.commonpath(
        [posixpath.dirname(_fixed_part(_path(_full(pattern)))) for pattern in patterns]
    )


def _path(uri: str) -> str:
    return uri.partition("://")[2] or uri


def _full(pattern: str) -> str:
    if pattern.startswith(_PACKAGE):
        return _in_package(pattern)
    return pattern if "://" in pattern else str(in_home(pattern))


def in_home(path: str) -> Path:
    """Returns a path in which ~ is the home folder.

    Raises:
        DataError: If it is the home of somebody whom this machine does not know.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise DataError(
            "Expected ~ in data.source to be the home folder of somebody on this machine. "
            f"Received: {path}. Write the path from the root."
        ) from error


def _in_package(pattern: str) -> str:
    """Finds the folder of an installed package, which is not imported for that."""
    name, _, path = pattern.removeprefix(_PACKAGE).partition("/")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"Expected {name or 'the name'} to be an installed package. Received: {pattern}. "
            "Install it, or name the files by their own path."
        )
    return posixpath.join(spec.submodule_search_locations[0], path)


def _fixed_part(pattern: str) -> str:
    first = min((pattern.find(char) for char in _WILDCARDS if char in pattern), default=None)
    return pattern if first is None else pattern[:first]


def _expand(pattern: str) -> list[str]:
    full = _full(pattern)
    if any("**" in part and part != "**" for part in full.split("/")):
        raise DataError(
            "Expected ** in data.source.path to stand alone between two slashes, for any number of "
            f"folders. Received: {pattern}. Write * within a name."
        )
    found = _expand_remote(full) if "://" in full else _expand_local(full)
    if not found:
        raise DataError(
            f"Expected data.source.path to name files. Received: {pattern}, which names none."
            f"{_similar_file(full)} Correct the path, or put the files there."
        )
    return found


def _expand_local(pattern: str) -> list[str]:
    path = Path(pattern)
    try:
        if path.is_dir():
            raise DataError(
                f"Expected data.source.path to name files. Received: {pattern}, which is a folder. "
                f'Name the files in it with a wildcard, such as "{pattern.rstrip("/")}/*.csv".'
            )
        if path.is_file():
            return [pattern]
        base = Path(posixpath.dirname(_fixed_part(pattern)))
        found = base.glob(pattern[len(str(base)) :].lstrip("/"))
        return [str(path) for path in found if path.is_file()]
    except OSError as error:
        raise DataError(
            f"Expected to look for {pattern}, but: {error.strerror}. Correct data.source.path."
        ) from error


def _similar_file(pattern: str) -> str:
    path = Path(pattern)
    if "://" in pattern or not path.parent.is_dir():
        return ""
    return nearest(path.name, (other.name for other in path.parent.iterdir()))


def _expand_remote(pattern: str) -> list[str]:
    filesystem, path = _filesystem(pattern)
    base = posixpath.dirname(_fixed_part(path))
    scheme = pattern[: len(pattern) - len(path)]
    is_fixed = _fixed_part(path) == path
    selector = (
        [path] if is_fixed else pyarrow.fs.FileSelector(base, allow_not_found=True, recursive=True)
    )
    try:
        infos = filesystem.get_file_info(selector)
    except OSError as error:
        raise DataError(f"Expected to list {pattern}, but: {error}. {_REMOTE_CURE}") from error
    names = [info.path for info in infos if info.is_file]
    return [scheme + name for name in names if is_fixed or _matches(name, path)]


def _matches(name: str, pattern: str) -> bool:
    """Says whether a path fits a pattern part by part; `**` stands for any number of parts."""
    return _match_parts(name.split("/"), pattern.split("/"))


def _match_parts(names: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_match_parts(names[skip:], patterns[1:]) for skip in range(len(names) + 1))
    return bool(names) and (
        fnmatch.fnmatchcase(names[0], patterns[0]) and _match_parts(names[1:], patterns[1:])
    )


@functools.cache
def _bucket(root: str) -> pyarrow.fs.FileSystem:
    limit = f"?retry_limit_seconds={_GCS_RETRY_SECS}" if root.startswith("gs://") else ""
    try:
        filesystem, _ = pyarrow.fs.FileSystem.from_uri(f"{root}{limit}")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise DataError(f"Expected to reach {root}, but: {error}. {_REMOTE_CURE}") from error
    return filesystem


def _filesystem(uri: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Returns the file system of a URI, made once, and the path within it."""
    scheme, _, path = uri.partition("://")
    if scheme == "file":
        return _bucket("file:///"), path
    return _bucket(f"{scheme}://{path.split('/')[0]}"), path


def chunks(file: SourceFile, size_bytes: int) -> Iterator[bytes]:
    """Yields the file's bytes, gzip undone, in pieces of about a size.

    Raises:
        DataError: If it cannot be read to its end, such as a damaged gzip file.
    """
    try:
        with file.open_stream() as stream:
            while chunk := stream.read(size_bytes):
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"Expected to read {file.uri} to its end, but: {error}. Fetch the file again."
        ) from error
