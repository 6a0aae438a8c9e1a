"""scikit-learn's handwritten digits, read from the file inside its package.

Importing scikit-learn to call `load_digits` takes seconds; reading its file takes milliseconds.
"""

import dataclasses
import gzip
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from components.ingest.errors import DataError
from components.ingest.sources.idx import PixelBlock

_SIZE_PX = 8
_MAX_VALUE = 16
_BLOCK_ROWS = 256


@dataclasses.dataclass(frozen=True)
class DigitsSource:
    """1,797 images of 8 x 8 px in grey, ten classes, no test split of its own."""

    path: Path
    origin: str = "scikit-learn's digits"

    @property
    def given_splits(self) -> frozenset[str]:
        """Only "train"."""
        return frozenset({"train"})

    @property
    def num_bytes(self) -> int:
        """The size of the file."""
        return self.path.stat().st_size

    def image_shape(self) -> tuple[int, int]:
        """Height and width in px."""
        return _SIZE_PX, _SIZE_PX

    def files(self) -> dict[str, Path]:
        """The one file."""
        return {"digits": self.path}

    def blocks(self) -> Iterator[PixelBlock]:
        """Yields the images with their values 0..16 stretched to 0..255."""
        with gzip.open(self.path) as file:
            table = np.loadtxt(file, delimiter=",", dtype=np.int64)
        pixels = table[:, :-1].reshape(-1, _SIZE_PX, _SIZE_PX, 1)
        images_NHWC = (pixels * 255 // _MAX_VALUE).astype(np.uint8)
        for first in range(0, len(table), _BLOCK_ROWS):
            stop = first + _BLOCK_ROWS
            yield PixelBlock("train", first, images_NHWC[first:stop], table[first:stop, -1])


def find_digits() -> DigitsSource:
    """Finds the file in the installed package.

    Raises:
        DataError: If scikit-learn is not installed, or without its data.
    """
    spec = importlib.util.find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "datasets", "data", "digits.csv.gz")
        if path.is_file():
            return DigitsSource(path)
    raise DataError(
        'Expected scikit-learn with its data files, for data.source.kind="sklearn". '
        "Install it with: pip install scikit-learn."
    )
