"""The rows of TFRecord and NumPy files as columns, for a look at them before there is a recipe."""

import collections
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from components.ingest import image_header, png, tfrecord
from components.ingest.errors import DataError, RowError
from components.ingest.sources import files, numpy_files, numpy_stream, tfrecord_files

# What is more than this is taken for pixels or samples instead of columns.
_MAX_ELEMENTS = 1024
# Sizes and colours are those of the first images; the others are left out.
_MAX_IMAGES = 1000
_NUMPY_BLOCK_BYTES = 1 << 20


def is_tfrecord(file: files.SourceFile) -> bool:
    """Says whether a file begins with a TFRecord, gzip undone."""
    start = next(files.chunks(file, tfrecord.HEADER_BYTES), b"")
    return tfrecord.is_header(start[: tfrecord.HEADER_BYTES])


def tfrecord_pieces(file: files.SourceFile) -> Iterator[dict[str, pyarrow.Array]]:
    """Yields the columns of a file's records; lists of one length become one for each element.

    Raises:
        DataError: If it cannot be read.
    """
    num_seen = 0
    for bodies in tfrecord_files.record_batches(file):
        rows = []
        for body in bodies:
            with contextlib.suppress(RowError):
                rows.append(tfrecord_files.parse(body))
        names = sorted({name for row in rows for name in row})
        piece: dict[str, pyarrow.Array] = {}
        for name in names:
            piece |= _feature_columns(name, [row.get(name, []) for row in rows], num_seen)
        num_seen += len(rows)
        yield piece


def _feature_columns(
    name: str, lists: Sequence[list[Any]], num_seen: int
) -> dict[str, pyarrow.Array]:
    size = max(map(len, lists))
    if size > _MAX_ELEMENTS:
        return {}
    if size > 1:
        padded = [values + [None] * (size - len(values)) for values in lists]
        return {
            f"{name}[{index}]": tfrecord_files.to_array(values)
            for index, values in enumerate(zip(*padded, strict=True))
        }
    values = [found[0] if found else None for found in lists]
    array = tfrecord_files.to_array(values)
    if not pyarrow.types.is_binary(array.type):
        return {name: array}
    if any(image_header.is_image(value or b"") for value in values):
        kept = [value if num_seen + row < _MAX_IMAGES else b"" for row, value in enumerate(values)]
        return {name: pyarrow.array(kept, pyarrow.binary())}
    with contextlib.suppress(pyarrow.ArrowInvalid):
        return {name: array.cast(pyarrow.string())}
    return {name: array}


def numpy_pieces(file: files.SourceFile) -> Iterator[dict[str, pyarrow.Array]]:
    """Yields the columns of a file's arrays, those of its train split if it names splits.

    A matrix gives a column for each of its own, an array of uint8 with more axes images.

    Raises:
        DataError: If it cannot be read, or no array holds rows.
    """
    with numpy_stream.open_arrays(file) as shelf:
        streams = {}
        for array in shelf.names:
            with contextlib.suppress(DataError):
                streams[array] = shelf.stream(array)
        if shelf.is_single and not streams:
            shelf.stream(numpy_stream.SINGLE)
        if any(array.endswith("_train") for array in streams):
            streams = {name: streams[name] for name in streams if name.endswith("_train")}
        lengths = collections.Counter(stream.shape[0] for stream in streams.values())
        if not lengths:
            raise DataError(f"Expected arrays of rows in {file.uri}. Received: none.")
        num_rows = lengths.most_common(1)[0][0]
        streams = {name: part for name, part in streams.items() if part.shape[0] == num_rows}
        row_bytes = sum(stream.row_bytes for stream in streams.values())
        count = max(1, _NUMPY_BLOCK_BYTES // row_bytes)
        for first in range(0, num_rows, count):
            piece: dict[str, pyarrow.Array] = {}
            for array, stream in streams.items():
                values = stream.read_rows(min(count, num_rows - first))
                name = array.removesuffix("_train") or "x"
                piece |= _array_columns(name, values, num_seen=first)
            yield piece


def has_test_arrays(file: files.SourceFile) -> bool:
    """Says whether an .npz file holds a train and a test split, as Keras names their arrays."""
    with numpy_stream.open_arrays(file) as shelf:
        bases = {name.removesuffix("_train") for name in shelf.names if name.endswith("_train")}
        return bool(bases) and all(f"{base}_test" in shelf.names for base in bases)


def _array_columns(name: str, values: np.ndarray, *, num_seen: int) -> dict[str, pyarrow.Array]:
    if values.dtype.names:
        return {
            field: numpy_files.to_arrow(values[field])
            for field in values.dtype.names
            if values[field].ndim == 1 and _is_plain(values[field])
        }
    if not _is_plain(values):
        return {}
    if values.ndim == 1:
        return {name: numpy_files.to_arrow(values)}
    if values.ndim == 2 and values.shape[1] <= _MAX_ELEMENTS:
        return {
            f"{name}[{index}]": numpy_files.to_arrow(values[:, index])
            for index in range(values.shape[1])
        }
    is_image = values.dtype == np.uint8 and values.ndim in (3, 4)
    if not is_image or (values.ndim == 4 and values.shape[3] not in (1, 3, 4)):
        return {}
    num_kept = min(len(values), max(0, _MAX_IMAGES - num_seen))
    found = [b""] * len(values)
    if num_kept:
        found[:num_kept] = png.encode_png(numpy_files.with_colours(values[:num_kept]))
    return {name: pyarrow.array(found, pyarrow.binary())}


def _is_plain(values: np.ndarray) -> bool:
    return values.dtype.kind in numpy_stream.KINDS
