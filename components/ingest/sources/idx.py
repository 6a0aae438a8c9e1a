"""IDX files (the format of MNIST and Fashion-MNIST), gzip-compressed or plain, read as a stream.

Legend: N images, H height, W width, C channels.
"""

import dataclasses
import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from components.ingest import fingerprint_images, png
from components.ingest.errors import DataError
from components.ingest.features.config import IMAGE_FEATURE
from components.ingest.sources.base import Row

_BLOCK_BYTES = 1 << 18
_UINT8 = 0x08
_CURE = "Fetch the file again, or name a whole copy of the data in data.source.data_dir."


@dataclasses.dataclass(frozen=True)
class PixelBlock:
    """Raw images and their labels; rows are numbered from `first_row` within the split."""

    split: str
    first_row: int
    images_NHWC: np.ndarray
    labels_N: np.ndarray

    def rows(self) -> Iterator[Row]:
        """Yields the rows, encoded as PNG; the split is a hash of the raw pixels."""
        encoded = png.encode_png(self.images_NHWC)
        looks = fingerprint_images.array_looks(self.images_NHWC)
        for index, (image, label) in enumerate(zip(encoded, self.labels_N.tolist(), strict=True)):
            key = f"{self.split}/{self.first_row + index:08d}"
            pixels = self.images_NHWC[index].tobytes()
            yield Row(key, {IMAGE_FEATURE: image}, label, pixels, looks[index])


@dataclasses.dataclass(frozen=True)
class IdxSource:
    """Pairs of IDX files: images and labels, by split."""

    pairs: Mapping[str, tuple[Path, Path]]
    origin: str

    @property
    def given_splits(self) -> frozenset[str]:
        """The splits that have a pair of files."""
        return frozenset(self.pairs)

    @property
    def num_bytes(self) -> int:
        """The sizes that the files' headers promise."""
        return sum(math.prod(_read_shape(images)) for images, _ in self.pairs.values())

    def image_shape(self) -> tuple[int, int]:
        """Height and width in px of the first split's images."""
        _, height_px, width_px = _read_shape(next(iter(self.pairs.values()))[0])
        return height_px, width_px

    def files(self) -> dict[str, Path]:
        """Images and labels, split by split."""
        return {
            f"{split}-{part}": path
            for split, pair in self.pairs.items()
            for part, path in zip(("images", "labels"), pair, strict=True)
        }

    def blocks(self) -> Iterator[PixelBlock]:
        """Yields blocks of about 256 KiB.

        Raises:
            DataError: If a file is not IDX or is truncated, or a pair's files differ in length.
        """
        for split, (images, labels) in self.pairs.items():
            yield from _read_pair(split, images, labels)


def _read_pair(split: str, images: Path, labels: Path) -> Iterator[PixelBlock]:
    with _open(images) as image_file, _open(labels) as label_file:
        num_rows, height_px, width_px = _header(image_file, images, rank=3)
        (num_labels,) = _header(label_file, labels, rank=1)
        if num_labels != num_rows or num_rows == 0:
            raise DataError(
                "Expected as many labels as images, and at least one. "
                f"Received: {num_rows} images in {images} and {num_labels} labels in {labels}. "
                f"{_CURE}"
            )
        block_rows = max(1, _BLOCK_BYTES // (height_px * width_px))
        for first in range(0, num_rows, block_rows):
            count = min(block_rows, num_rows - first)
            pixels = _read(image_file, images, count * height_px * width_px)
            yield PixelBlock(
                split,
                first,
                pixels.reshape(count, height_px, width_px, 1),
                _read(label_file, labels, count),
            )
        _check_end(image_file, images)
        _check_end(label_file, labels)


def _open(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"Expected to read {path}, but: {error.strerror}. {_CURE}") from error
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file


def _read_shape(path: Path) -> tuple[int, ...]:
    with _open(path) as file:
        return _header(file, path, rank=3)


def _header(file: BinaryIO, path: Path, *, rank: int) -> tuple[int, ...]:
    magic = _read(file, path, 4).tolist()
    if magic != [0, 0, _UINT8, rank]:
        raise DataError(
            f"Expected {path} to be an IDX file of uint8 values with {rank} dimensions. "
            f"Received: first bytes {magic}. {_CURE}"
        )
    return struct.unpack(f">{rank}I", _read(file, path, 4 * rank).tobytes())


def _check_end(file: BinaryIO, path: Path) -> None:
    # gzip compares its checksum only when it is asked for what follows the last byte.
    if _read_some(file, path, 1):
        raise DataError(f"Expected {path} to end after its last value; more follows. {_CURE}")


def _read_some(file: BinaryIO, path: Path, num_bytes: int) -> bytes:
    try:
        return file.read(num_bytes)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"Expected to read {path} to its end, but: {error}. {_CURE}") from error


def _read(file: BinaryIO, path: Path, num_bytes: int) -> np.ndarray:
    data = _read_some(file, path, num_bytes)
    if len(data) < num_bytes:
        raise DataError(
            f"Expected {num_bytes} more bytes in {path}; the file ends after {len(data)}. {_CURE}"
        )
    return np.frombuffer(data, np.uint8)
