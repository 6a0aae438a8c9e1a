"""What the data guard needs to know of each row, noted while the row is at hand.

A fingerprint holds the hash of the row's input, its answer, its group and time if it has them, and
its look, which depends on the kind of input: small pictures of an image, the MinHash signature of a
text, the rhythm of a recording, the values of a table's columns, the shape of a series. There is a
file of them per shard, in the order of its rows, and one LAYOUT_FILE for all.

Legend: N rows.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.ingest import (
    fingerprint_images,
    fingerprint_recordings,
    fingerprint_sequences,
    fingerprint_series,
    fingerprint_texts,
)
from components.ingest.config import DataConfig
from components.ingest.features.config import (
    AUDIO_FEATURE,
    HISTORY_FEATURE,
    TARGET_FEATURE,
    TEXT_FEATURE,
    TableFeature,
)
from components.ingest.sources.base import Row

FOLDER = "fingerprints"
LAYOUT_FILE = "layout.json"
# A missing category; a missing number is NaN.
MISSING = 0

# Rows wait until there are enough for numpy, or until they take much memory.
_BUFFER_ROWS = 256
_BUFFER_BYTES = 1 << 18


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """What the fingerprints of a dataset hold."""

    input_name: str  # image, text, audio, table or series.
    answer_name: str | None  # label, target, or none.
    class_names: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()  # Columns of a table, and those that stand for its lists.
    categories: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()
    num_channels: int = 1  # Of a step of a series.
    split_by: str = "hash"

    @classmethod
    def of(cls, data: DataConfig) -> "Layout":
        """Returns the layout for a recipe's data."""
        return cls(
            input_name=data.input_name,
            answer_name=data.answer_name,
            class_names=data.class_names,
            numbers=_number_names(data.table) if data.table else (),
            categories=data.table.categories() if data.table else (),
            sequences=tuple(data.table.sequences()) if data.table else (),
            num_channels=data.series.num_channels if data.series else 1,
            split_by=data.splits.by,
        )

    @classmethod
    def read(cls, folder: Path) -> "Layout":
        """Reads the layout of the dataset in `folder`.

        Raises:
            FileNotFoundError: If there is none.
        """
        values: dict[str, Any] = json.loads((folder / FOLDER / LAYOUT_FILE).read_text())
        for name in ("class_names", "numbers", "categories", "sequences"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)

    def write(self, folder: Path) -> None:
        """Writes LAYOUT_FILE into the dataset in `folder`."""
        (folder / FOLDER / LAYOUT_FILE).write_text(json.dumps(dataclasses.asdict(self)))

    @property
    def dtype(self) -> np.dtype:
        """The dtype of one fingerprint."""
        fields: list[Any] = [("content", "<u8"), ("group", "<u8"), ("time", "<f8")]
        if self.answer_name:
            fields.append((self.answer_name, "<i4" if self.answer_name == "label" else "<f4"))
        return np.dtype(fields + self._look_fields())

    @property
    def look_dtype(self) -> np.dtype:
        """The dtype of the part that depends on the kind of input."""
        return np.dtype(self._look_fields())

    def _look_fields(self) -> list[Any]:
        if self.input_name == "image":
            return list(fingerprint_images.FIELDS)
        if self.input_name == "text":
            return [("minhash", "<u2", (fingerprint_texts.NUM_HASHES,)), ("num_words", "<i4")]
        if self.input_name == "table":
            return [
                ("numbers", "<f4", (len(self.numbers),)),
                ("categories", "<u8", (len(self.categories),)),
                ("sequences", "<u8", (len(self.sequences),)),
            ]
        if self.input_name == "series":
            return list(fingerprint_series.fields(self.num_channels))
        return list(fingerprint_recordings.FIELDS)


def _number_names(table: TableFeature) -> tuple[str, ...]:
    looks = (
        fingerprint_sequences.look_names(name, column) for name, column in table.sequences().items()
    )
    return (*table.numbers(), *(name for names in looks for name in names))


class FingerprintWriter:
    """Writes the fingerprints of one shard; the file is there once it is closed."""

    def __init__(self, path: Path, layout: Layout):
        self._layout = layout
        self._file = path.open("xb")
        self._rows: list[Row] = []
        self._num_bytes = 0

    def add(self, row: Row) -> None:
        """Notes one row; its label is the index of its class."""
        self._rows.append(row)
        self._num_bytes += len(row.content)
        if len(self._rows) == _BUFFER_ROWS or self._num_bytes >= _BUFFER_BYTES:
            self._flush()

    def close(self) -> None:
        """Writes what is left and closes the file."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._file.write(encode_rows(self._rows, self._layout).tobytes())
        self._rows, self._num_bytes = [], 0


def encode_rows(rows: Sequence[Row], layout: Layout) -> np.ndarray:
    """Returns the fingerprints of rows, shape (N,), in the dtype of the layout.

    The label of a row must be the index of its class.
    """
    found_N = np.zeros(len(rows), layout.dtype)
    if layout.input_name != "table":
        found_N["content"] = [_hash(row.content) for row in rows]
    found_N["group"] = [MISSING if row.group is None else _name_hash(row.group) for row in rows]
    found_N["time"] = [np.nan if row.time is None else row.time for row in rows]
    if layout.answer_name == "label":
        found_N["label"] = [row.label for row in rows]
    elif layout.answer_name == "target":
        found_N["target"] = [_value(row.features[TARGET_FEATURE]) for row in rows]
    _LOOKS[layout.input_name](found_N, rows, layout)
    return found_N


def read_fingerprints(path: Path, layout: Layout, *, start: int = 0, count: int = -1) -> np.ndarray:
    """Reads the fingerprints of a shard, or `count` of them from the one at `start`, shape (N,)."""
    return np.fromfile(path, layout.dtype, count, offset=start * layout.dtype.itemsize)


def _hash(value: bytes) -> int:
    """Returns 64 bits of a value's SHA-256; MISSING is left to what is missing."""
    return int.from_bytes(hashlib.sha256(value).digest()[:8], "little") or 1


# For the short values that come again and again.
_name_hash = functools.lru_cache(1 << 14)(_hash)


def table_looks(
    numbers: Mapping[str, np.ndarray],
    categories: Mapping[str, tuple[list[bytes], np.ndarray]],
    sequences: Mapping[str, Sequence[np.ndarray]] | None = None,
) -> list[bytes]:
    """Returns the looks of N rows of a table, column by column.

    Args:
        numbers: Each column of numbers, (N,) float32, NaN where one is missing.
        categories: The distinct names in each other column, and which of them each row has,
            (N,) integers, of which -1 stands for a missing one.
        sequences: Each column of lists, the numbers of each row.
    """
    sequences = sequences or {}
    values_NC = [np.asarray(values_N, np.float32) for values_N in numbers.values()]
    codes_NC = []
    for names, indices_N in categories.values():
        hashes = [_name_hash(name) if name else MISSING for name in names]
        codes_NC.append(np.array([*hashes, MISSING], np.uint64)[indices_N])
    layout = Layout(
        input_name="table",
        answer_name=None,
        numbers=tuple(numbers),
        categories=tuple(categories),
        sequences=tuple(sequences),
    )
    num_rows = len([*values_NC, *codes_NC][0])
    looks_N = np.zeros(num_rows, layout.look_dtype)
    for index, values_N in enumerate(values_NC):
        # Equal is what the model sees as equal, whatever the row's bytes are; -0.0 is 0.0.
        looks_N["numbers"][:, index] = values_N + 0.0
    for index, codes_N in enumerate(codes_NC):
        looks_N["categories"][:, index] = codes_N
    for index, rows in enumerate(sequences.values()):
        hashes = [
            _hash(fingerprint_sequences.content(row)) if len(row) else MISSING for row in rows
        ]
        looks_N["sequences"][:, index] = np.array(hashes, np.uint64)
    found: list[bytes] = looks_N.view(f"V{looks_N.dtype.itemsize}").tolist()
    return found


def _note_looks(found_N: np.ndarray, rows: Sequence[Row], layout: Layout) -> None:
    looks_N = np.frombuffer(b"".join(row.look for row in rows), layout.look_dtype)
    for name in looks_N.dtype.names or ():
        found_N[name] = looks_N[name]


def _note_texts(found_N: np.ndarray, rows: Sequence[Row], layout: Layout) -> None:
    texts = [_value(row.features[TEXT_FEATURE]).decode("utf-8", "replace") for row in rows]
    found_N["minhash"], found_N["num_words"] = fingerprint_texts.minhash(texts)


def _note_tables(found_N: np.ndarray, rows: Sequence[Row], layout: Layout) -> None:
    if not rows[0].look:
        looks = _looks_of(rows, layout)
        rows = [row._replace(look=look) for row, look in zip(rows, looks, strict=True)]
    _note_looks(found_N, rows, layout)
    found_N["content"] = [_hash(row.look) for row in rows]


def _looks_of(rows: Sequence[Row], layout: Layout) -> list[bytes]:
    """Returns the looks of rows that hold their columns one by one."""
    numbers, categories = {}, {}
    for name in layout.numbers:
        values = [_value(row.features.get(name)) for row in rows]
        numbers[name] = np.array([np.nan if value is None else value for value in values], "<f4")
    for name in layout.categories:
        names = [_value(row.features.get(name)) or b"" for row in rows]
        categories[name] = names, np.arange(len(rows))
    return table_looks(numbers, categories)


def _value(value: Any) -> Any:
    """Returns the only value of a feature; None if there is none."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, bytes):
        return value[0] if len(value) else None
    return value


def _note_series(found_N: np.ndarray, rows: Sequence[Row], layout: Layout) -> None:
    histories: list[Any] = [row.features[HISTORY_FEATURE] for row in rows]
    looks = fingerprint_series.window_looks(histories, layout.num_channels)
    found_N["level"], found_N["spread"], found_N["shape"] = looks


def _note_recordings(found_N: np.ndarray, rows: Sequence[Row], layout: Layout) -> None:
    for index, row in enumerate(rows):
        look = fingerprint_recordings.recording_look(_value(row.features[AUDIO_FEATURE]))
        found_N["swing"][index], found_N["rhythm"][index] = look


_LOOKS: dict[str, Callable[[np.ndarray, Sequence[Row], Layout], None]] = {
    "image": _note_looks,
    "text": _note_texts,
    "audio": _note_recordings,
    "table": _note_tables,
    "series": _note_series,
}
