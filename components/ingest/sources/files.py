"""Files that a recipe names by paths, wildcards or URIs, opened as streams wherever they lie."""

import fnmatch
import gzip
import hashlib
import importlib.util
import io
import posixpath
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow
import pyarrow.fs

from components import addresses
from components.ingest.errors import DataError, nearest
from components.ingest.sources import span_patterns
from components.ingest.sources.span_patterns import Span

GZIP_MAGIC = b"\x1f\x8b"
_WILDCARDS = frozenset("*?[")
_PACKAGE = "package://"


class SourceFile(NamedTuple):
    """One file; `name` is relative to the folder that the recipe names, `uri` says where it is."""

    name: str
    uri: str
    span: Span | None = None  # If the path that names it says so.

    @property
    def is_local(self) -> bool:
        """Whether the operating system opens it."""
        return not addresses.is_address(self.uri)

    def stamp(self) -> str:
        """Returns what changes when the file does: its size and when it was written last.

        Where no times are kept, it is the size and a digest of what the file holds.

        Raises:
            OSError: If it is not there.
        """
        if self.is_local:
            status = Path(self.uri).stat()
            return f"{status.st_size} {status.st_mtime_ns} {status.st_ino} {status.st_dev}"
        info = self._info()
        if info.mtime_ns is None:
            with self.open_random() as file:
                return f"{info.size} {hashlib.file_digest(file, 'sha256').hexdigest()}"
        return f"{info.size} {info.mtime_ns}"

    def _info(self) -> pyarrow.fs.FileInfo:
        place = _place(self.uri)
        (info,) = place.filesystem.get_file_info([place.path(self.uri)])
        if not info.is_file:
            raise FileNotFoundError(2, "No such file or directory", self.uri)
        return info

    def size_bytes(self) -> int:
        """Returns the size of the file."""
        return Path(self.uri).stat().st_size if self.is_local else int(self._info().size)

    def open_random(self) -> Any:
        """Opens the file for reading at any place, as pyarrow's readers ask."""
        if self.is_local:
            return pyarrow.OSFile(self.uri)
        place = _place(self.uri)
        return place.filesystem.open_input_file(place.path(self.uri))

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
    found = {uri: span for pattern in patterns for uri, span in _expand(pattern).items()}
    base = _common_folder(patterns)
    return [
        SourceFile(_path(uri)[len(base) :].lstrip("/"), uri, found[uri]) for uri in sorted(found)
    ]


def _common_folder(patterns: Iterable[str]) -> str:
    """Returns the deepest folder that holds all that the patterns could name.

    It does not depend on which files there are, so that a file's name never changes.
    """
    schemes = {
        pattern.partition("://")[0] if addresses.is_address(pattern) else "" for pattern in patterns
    }
    if len(schemes) > 1:
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
    return pattern if addresses.is_address(pattern) else str(in_home(pattern))


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
    first = min(
        (pattern.find(char) for char in _WILDCARDS if char in pattern), default=len(pattern)
    )
    spec = span_patterns.first_spec(pattern)
    return pattern[: first if spec is None else min(first, spec)]


def _expand(pattern: str) -> dict[str, Span | None]:
    full = _full(pattern)
    if any("**" in part and part != "**" for part in full.split("/")):
        raise DataError(
            "Expected ** in data.source.path to stand alone between two slashes, for any number of "
            f"folders. Received: {pattern}. Write * within a name."
        )
    named = span_patterns.wildcards(full)
    uris = _expand_remote(named) if addresses.is_address(full) else _expand_local(named)
    found: dict[str, Span | None] = dict.fromkeys(uris)
    if named != full:
        spans = {uri: span_patterns.span_of(uri, full) for uri in uris}
        found = {uri: span for uri, span in spans.items() if span is not None}
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
    if addresses.is_address(pattern) or not path.parent.is_dir():
        return ""
    return nearest(path.name, (other.name for other in path.parent.iterdir()))


def _expand_remote(pattern: str) -> list[str]:
    place = _place(pattern, is_first=True)
    path = place.path(pattern)
    is_fixed = _fixed_part(path) == path
    base = posixpath.dirname(_fixed_part(path))
    selector = (
        [path] if is_fixed else pyarrow.fs.FileSelector(base, allow_not_found=True, recursive=True)
    )
    try:
        infos = place.filesystem.get_file_info(selector)
    except OSError as error:
        raise DataError(str(addresses.unreachable(f"to list {pattern}", error))) from error
    names = [info.path for info in infos if info.is_file]
    return [place.address(name) for name in names if is_fixed or _matches(name, path)]


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


def _place(uri: str, *, is_first: bool = False) -> addresses.Place:
    try:
        return addresses.place_of(uri, is_first=is_first)
    except addresses.AddressError as error:
        raise DataError(str(error)) from error


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
