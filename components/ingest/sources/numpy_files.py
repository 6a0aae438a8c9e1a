"""NumPy files, .npy and .npz, read as a stream of rows, so that no array is ever in memory.

A memory map would kill the process without a word when a file is cut short meanwhile. Legend: N
rows, H height, W width, C channels, T samples.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow

from components.ingest import checks, png
from components.ingest.config import DataConfig
from components.ingest.errors import DataError, nearest
from components.ingest.features import recordings
from components.ingest.sources import assemble, columns, files, numpy_stream
from components.ingest.sources.base import ColumnRows, Reject, Row
from components.ingest.sources.config import NumpySource

_BLOCK_BYTES = 1 << 18
_LABELS = "labels of "


class Place(NamedTuple):
    """Where a column is: an array, and the element of each row's vector or the field, if any."""

    array: str
    part: int | str | None = None


@dataclasses.dataclass(frozen=True)
class ArraysBlock:
    """Some rows of all arrays that are read, numbered from `first_row` within the file."""

    split: str
    name: str
    first_row: int
    arrays: dict[str, np.ndarray]
    places: dict[str, Place]
    data: DataConfig

    def rows(self) -> Iterator[Row | Reject]:
        """Yields the rows."""
        return assemble.block_rows(self.data, self.read)

    def read(self, names: Sequence[str]) -> ColumnRows:
        """Returns some columns; images become PNG files, and samples WAV files."""
        count = len(next(iter(self.arrays.values())))
        keys = [f"{self.name}:{self.first_row + index}" for index in range(count)]
        return ColumnRows({name: self._column(name) for name in names}, keys, [])

    def _column(self, name: str) -> pyarrow.Array:
        array, part = self.places[name]
        values = self.arrays[array]
        if isinstance(part, int):
            values = values.reshape(len(values), -1)[:, part]
        elif part is not None:
            values = values[part]
        if values.ndim == 1:
            return to_arrow(values)
        if name in columns.list_columns(self.data):
            return to_lists(values)
        if self.data.audio:
            rate_hz = self.data.audio.sample_rate_hz
            return pyarrow.array([recordings.encode_samples(row, rate_hz) for row in values])
        return pyarrow.array(list(png.encode_png(with_colours(values))), pyarrow.binary())


def with_colours(images: np.ndarray) -> np.ndarray:
    """Returns images (N, H, W, C) without transparency, which training and serving drop too."""
    images_NHWC = images[..., None] if images.ndim == 3 else images
    return images_NHWC[..., :3]


def to_lists(values: np.ndarray) -> pyarrow.Array:
    """Returns an array (N, S) or (N, S, C) of numbers as a column of lists of S * C numbers."""
    flat = to_arrow(values.reshape(-1))
    size = values[0].size if len(values) else 0
    offsets = np.arange(len(values) + 1, dtype=np.int32) * size
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), flat)


def to_arrow(values_N: np.ndarray) -> pyarrow.Array:
    """Returns an array of one value a row as a column."""
    kind, size = values_N.dtype.kind, values_N.dtype.itemsize
    if kind == "f" and size != 8:
        values_N = values_N.astype(np.float32 if size < 8 else np.float64)
    elif kind == "M":
        values_N = values_N.astype("M8[us]")
    return pyarrow.array(np.ascontiguousarray(values_N, values_N.dtype.newbyteorder("=")))


def read_blocks(
    split: str,
    file: files.SourceFile,
    source: NumpySource,
    data: DataConfig,
    labels: files.SourceFile | None = None,
) -> Iterator[ArraysBlock]:
    """Yields the blocks of one file.

    Raises:
        DataError: If it cannot be read, lacks an array of the recipe, or has one that holds
            something else.
    """
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(numpy_stream.open_arrays(file))
        label_arrays = stack.enter_context(numpy_stream.open_arrays(labels)) if labels else None
        places, streams = {}, {}
        for name in columns.used_columns(data):
            is_label = label_arrays is not None and name == _answer_column(data)
            shelf = label_arrays if is_label and label_arrays else opened
            place = _find(name, shelf, split)
            key = f"{_LABELS}{place.array}" if is_label else place.array
            streams[key] = shelf.stream(place.array)
            places[name] = place._replace(array=key)
            _check_column(name, streams[key], place, data)
        # The rows of another split may lie in the same file, and keys must differ.
        has_splits = any(key.endswith(f"_{split}") for key in streams)
        name = f"{file.name}/{split}" if has_splits else file.name
        for arrays, first in _row_blocks(streams):
            yield ArraysBlock(split, name, first, arrays, places, data)


def _answer_column(data: DataConfig) -> str | None:
    answer = data.label or data.target
    return answer.source_name if answer else None


def _find(name: str, shelf: numpy_stream.Arrays, split: str) -> Place:
    """Returns the array, element or field that a column's name stands for in a file.

    Keras names arrays by split, as in "x_train", which "x" finds too.
    """
    element = columns.element(name)
    for base, part in ((name, None), *([element] if element else [])):
        if shelf.is_single:
            fields = shelf.stream(numpy_stream.SINGLE).dtype.names or ()
            if not fields:
                return Place(numpy_stream.SINGLE, element[1] if element else None)
            if base in fields:
                return Place(numpy_stream.SINGLE, base)
        for array in (base, f"{base}_{split}"):
            if array in shelf.names:
                return Place(array, part)
    found = shelf.names
    if shelf.is_single:
        found = shelf.stream(numpy_stream.SINGLE).dtype.names or ()
    raise DataError(
        f'Expected an array "{name}" in {shelf.uri}, as the recipe says. '
        f"Received: {', '.join(found)[:500]}.{nearest(name, found)} Correct its source_name."
    )


def _check_column(
    name: str, stream: numpy_stream.ArrayStream, place: Place, data: DataConfig
) -> None:
    """Checks what each row of a column holds, before the first is read."""
    dtype = stream.dtype if not isinstance(place.part, str) else stream.dtype[place.part]
    shape = (*stream.shape[1:], *dtype.shape)
    numpy_stream.check_dtype(dtype.base, name, stream.uri)
    if data.image and name == data.image.source_name:
        _check_images(name, stream, data)
    elif data.audio and name == data.audio.source_name:
        if len(shape) != 1 or dtype.base not in (np.dtype("f4"), np.dtype("f8"), np.dtype("i2")):
            raise DataError(
                f'Expected the array "{name}" in {stream.uri} to hold recordings: float samples in '
                f"[-1, 1], or int16, of shape (N, T). Received: {dtype.base}, shape "
                f"{stream.shape}. Convert it."
            )
    elif name in columns.list_columns(data):
        _check_lists(name, stream.uri, shape, data)
    elif isinstance(place.part, int):
        if len(shape) != 1 or place.part >= shape[0]:
            raise DataError(
                f'Expected "{name}" to be a column of a matrix in {stream.uri}. '
                f"Received: shape {stream.shape}. Correct the number in brackets."
            )
    elif shape and shape != (1,):
        cure = f'Name its columns one by one, such as "{name}[0]".'
        if name == _answer_column(data):
            cure += " Or name files of labels in data.source.labels_path."
        raise DataError(
            f'Expected the array "{name}" in {stream.uri} to hold one value a row. Received: shape '
            f"{stream.shape}. {cure}"
        )


def _check_lists(name: str, uri: str, shape: tuple[int, ...], data: DataConfig) -> None:
    column = data.table.sequences()[name]  # type: ignore[union-attr]
    channels = shape[1] if len(shape) == 2 else column.channels
    if len(shape) not in (1, 2) or channels != column.channels:
        raise DataError(
            f'Expected the array "{name}" in {uri} to hold lists of numbers: (N, S), or (N, S, C) '
            f"with {column.channels} channels. Received: rows of shape {shape}. Correct the "
            "column in data.table.columns, or the array."
        )


def _check_images(name: str, stream: numpy_stream.ArrayStream, data: DataConfig) -> None:
    shape = stream.shape
    channels = shape[3] if len(shape) == 4 else 1
    if stream.dtype != np.uint8 or len(shape) not in (3, 4) or channels not in (1, 3, 4):
        raise DataError(
            f'Expected the array "{name}" in {stream.uri} to hold images: uint8 in [0, 255] of '
            "shape (N, H, W) or (N, H, W, C) with 1, 3 or 4 channels. Received: "
            f"{stream.dtype}, shape {shape}. Convert it, such as "
            "(255 * images).round().astype(numpy.uint8) where they are in [0, 1]."
        )
    checks.check_image_size(data, height_px=shape[1], width_px=shape[2], channels=min(channels, 3))


def _row_blocks(
    streams: Mapping[str, numpy_stream.ArrayStream],
) -> Iterator[tuple[dict[str, np.ndarray], int]]:
    """Yields rows of all arrays together, with the number of the first, and checks their ends."""
    lengths = {name: stream.shape[0] for name, stream in streams.items()}
    uri = next(iter(streams.values())).uri
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        shown = ", ".join(f"{length} of {name or 'the array'}" for name, length in lengths.items())
        raise DataError(
            f"Expected as many rows in each array that is read from {uri}, and at least one. "
            f"Received: {shown}. Correct the arrays, or the names in the recipe."
        )
    total = min(lengths.values())
    block_rows = max(1, _BLOCK_BYTES // sum(stream.row_bytes for stream in streams.values()))
    for first in range(0, total, block_rows):
        count = min(block_rows, total - first)
        yield {name: stream.read_rows(count) for name, stream in streams.items()}, first
    for stream in streams.values():
        stream.check_end()
