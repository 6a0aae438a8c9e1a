"""Files of one JSON object to a line, parsed in blocks."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow

from components.ingest.config import DataConfig
from components.ingest.errors import DataError, RowError
from components.ingest.sources import assemble, columns, files
from components.ingest.sources.base import ColumnRows, Reject, Row
from components.ingest.sources.config import JsonlSource

_CHUNK_BYTES = 1 << 18
_MAX_LINE_BYTES = 256 << 20
_BOM = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class LinesBlock:
    """Whole lines of a file, of which the first one is number `first_line`."""

    split: str
    name: str
    first_line: int
    lines: bytes
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows, then the lines that are no JSON objects."""
        return assemble.block_rows(self.data, self.read)

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns; a line is rejected if it is no JSON object."""
        objects, rejects = parse_lines(self.lines, name=self.name, first_line=self.first_line)
        return ColumnRows(to_arrays(list(objects.values()), names), list(objects), rejects)


def read_blocks(
    split: str, file: files.SourceFile, source: JsonlSource, data: DataConfig
) -> Iterator[LinesBlock]:
    """Yields the blocks of one file.

    Raises:
        DataError: If it cannot be read, or its first lines lack a column of the recipe.
    """
    line, is_first = 1, True
    for lines in whole_lines(file):
        if is_first:
            _check_names(lines, file, data)
            is_first = False
        yield LinesBlock(split, file.name, line, lines, data)
        line += lines.count(b"\n")


def _check_names(lines: bytes, file: files.SourceFile, data: DataConfig) -> None:
    objects, _ = parse_lines(lines, name=file.name, first_line=1)
    found = dict.fromkeys(name for value in objects.values() for name in value)
    if objects:
        columns.check_columns(data, list(found), where=f"the first lines of {file.uri}")


def whole_lines(file: files.SourceFile) -> Iterator[bytes]:
    """Yields the bytes of a file in blocks of about 256 KiB that end with a line.

    Raises:
        DataError: If it cannot be read, or a line is longer than 256 MiB.
    """
    rest = b""
    for number, chunk in enumerate(files.chunks(file, _CHUNK_BYTES)):
        rest += chunk if number else chunk.removeprefix(_BOM)
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > _MAX_LINE_BYTES:
            raise DataError(
                f"Expected one JSON object to a line in {file.uri}. Received: a line of more than "
                f"{_MAX_LINE_BYTES >> 20} MiB. Write each object on a line of its own."
            )
    if rest:
        yield rest


def parse_lines(
    lines: bytes, *, name: str, first_line: int
) -> tuple[dict[str, dict[str, Any]], list[Reject]]:
    """Returns the objects by file and line, and what is no object; empty lines are skipped."""
    objects, rejects = {}, []
    for number, line in enumerate(lines.split(b"\n"), start=first_line):
        if not line.strip():
            continue
        key = f"{name}:{number}"
        try:
            objects[key] = _parse(line)
        except RowError as error:
            rejects.append(Reject(key, str(error)))
    return objects, rejects


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode(), object_pairs_hook=_no_name_twice)
    except UnicodeDecodeError as error:
        raise RowError(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise RowError(f"it is no JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise RowError("its JSON is nested too deeply") from error
    if not isinstance(value, dict):
        raise RowError(f"it is a JSON {type(value).__name__}, not an object")
    return value


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError(f'it has the name "{twice}" twice')
    return found


def to_arrays(
    objects: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> dict[str, pyarrow.Array]:
    """Returns a column for each name; one whose values are of several kinds becomes texts."""
    return {name: _to_array([value.get(name) for value in objects]) for name in names}


def _to_array(values: list[Any]) -> pyarrow.Array:
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.array([_text(value) for value in values], pyarrow.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
