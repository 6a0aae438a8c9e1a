"""Ingested datasets with planted faults."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from components.data_guard.dataset import Table, load_table
from components.ingest import ingest
from components.ingest.sources.idx import PixelBlock
from tests.components import data_factories

CLASS_NAMES = ("ant", "bee", "cat")


@dataclasses.dataclass
class ArraySource:
    """Images and labels by split, in memory."""

    arrays: dict[str, tuple[np.ndarray, np.ndarray]]
    origin: str = "arrays"
    num_bytes: int = 0

    @property
    def given_splits(self) -> frozenset[str]:
        return frozenset(self.arrays)

    def files(self) -> dict[str, Path]:
        return {}

    def blocks(self) -> Iterator[PixelBlock]:
        for split, (images, labels) in self.arrays.items():
            for first in range(0, len(images), 50):
                part = slice(first, first + 50)
                yield PixelBlock(split, first, images[part], labels[part])


def smooth_images(num_rows: int, *, seed: int, channels: int = 1) -> np.ndarray:
    """uint8 images (N, 32, 32, C) of a few soft spots each, like no other."""
    generator = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 32)
    centres = generator.uniform(0, 1, (num_rows, 6, 2))
    heights = generator.uniform(60, 200, (num_rows, 6, channels))
    distance = (grid[None, None, :, None] - centres[:, :, None, None, 0]) ** 2 + (
        grid[None, None, None, :] - centres[:, :, None, None, 1]
    ) ** 2
    spots = np.exp(-distance * 60)
    return np.clip(np.einsum("nshw,nsc->nhwc", spots, heights), 0, 255).astype(np.uint8)


def clean_arrays(*, channels: int = 1) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """600, 150 and 150 images without faults; labels come round in turn."""
    sizes = {"train": 600, "validation": 150, "test": 150}
    return {
        split: (smooth_images(size, seed=size + number, channels=channels), np.arange(size) % 3)
        for number, (split, size) in enumerate(sizes.items())
    }


def ingest_arrays(arrays: dict[str, tuple[np.ndarray, np.ndarray]], folder: Path) -> Path:
    """Ingests the arrays and returns the dataset's folder."""
    channels = arrays["train"][0].shape[3]
    data = data_factories.data_config(
        image={"height_px": 32, "width_px": 32, "channels": channels},
        label={"class_names": list(CLASS_NAMES)},
    )
    return ingest.ingest_source(ArraySource(arrays), data, seed=0, cache_dir=folder).path


def make_table(arrays: dict[str, tuple[np.ndarray, np.ndarray]], folder: Path) -> Table:
    """Ingests the arrays and loads what the guard sees of them."""
    return load_table(ingest_arrays(arrays, folder))
