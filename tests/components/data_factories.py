"""Small datasets for tests, and a synthetic source of any length for benchmarks."""

import dataclasses
import gzip
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from components.ingest.config import DataConfig
from components.ingest.sources.base import Reject, Row
from components.ingest.sources.idx import IdxSource, PixelBlock

NUM_CLASSES = 3
ROOT = Path(__file__).parents[2]


def python_command(code: str, *arguments: str) -> dict[str, object]:
    """Arguments of `subprocess` to run `code` in a process of its own that finds these tests."""
    return {
        "args": [sys.executable, "-c", code, *arguments],
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
    }


def run_python(code: str, *arguments: str) -> str:
    """Runs `code` in a process of its own and returns what it printed."""
    options = {"capture_output": True, "text": True, "timeout": 300, "check": True}
    return subprocess.run(**python_command(code, *arguments), **options).stdout


def data_config(**changes: object) -> DataConfig:
    """A recipe's data: 4 x 4 px in grey, three classes; `changes` replace whole blocks."""
    values: dict[str, object] = {
        "source": {"kind": "tfds", "name": "fashion_mnist"},
        "image": {"height_px": 4, "width_px": 4, "channels": 1},
        "label": {"class_names": ["ant", "bee", "cat"]},
        "splits": {"validation_share": 0.25},
    }
    return DataConfig.from_dict({**values, **changes})


def random_images(num_rows: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """uint8 images (N, 4, 4) that all differ, and labels (N,) that come round in turn."""
    generator = np.random.default_rng(seed)
    return (
        generator.integers(0, 256, (num_rows, 4, 4), dtype=np.uint8),
        np.arange(num_rows, dtype=np.uint8) % NUM_CLASSES,
    )


def write_idx(path: Path, array: np.ndarray) -> Path:
    """Writes a uint8 array as IDX, compressed if the name says so."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    data = header + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_idx_dataset(folder: Path, *, num_train: int = 200, num_test: int = 60) -> IdxSource:
    """Writes the four files of an MNIST-like dataset under the names that Debian gives them."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = {}
    for split, prefix, num_rows in (("train", "train", num_train), ("test", "t10k", num_test)):
        images, labels = random_images(num_rows, seed=num_rows)
        pairs[split] = (
            write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", images),
            write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", labels),
        )
    return IdxSource(pairs, "a test")


@dataclasses.dataclass(frozen=True)
class RowsSource:
    """Rows that a test made itself, in one block."""

    made_rows: tuple[Row | Reject, ...]
    split: str = "train"
    origin: str = "a test"
    given_splits: frozenset[str] = frozenset({"train"})
    num_bytes: int = 1

    def files(self) -> dict[str, Path]:
        return {}

    def blocks(self) -> Iterator["RowsSource"]:
        yield self

    def rows(self) -> Iterator[Row | Reject]:
        return iter(self.made_rows)


@dataclasses.dataclass(frozen=True)
class SyntheticSource:
    """`num_rows` grey images of 28 x 28 px, made block by block, one test image to ten others."""

    num_rows: int
    origin: str = "synthetic"
    given_splits: frozenset[str] = frozenset({"train", "test"})

    @property
    def num_bytes(self) -> int:
        return self.num_rows * 28 * 28

    def files(self) -> dict[str, Path]:
        return {}

    def blocks(self) -> Iterator[PixelBlock]:
        for number, first in enumerate(range(0, self.num_rows, 100)):
            count = min(100, self.num_rows - first)
            images = np.random.default_rng(first).integers(0, 256, (count, 28, 28, 1), np.uint8)
            labels = np.arange(count) % NUM_CLASSES
            yield PixelBlock("train" if number % 11 else "test", first, images, labels)
