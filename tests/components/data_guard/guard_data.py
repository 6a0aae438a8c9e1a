"""Ingested datasets with planted faults."""

import dataclasses
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from components.data_guard.dataset import Dataset
from components.ingest import ingest
from components.ingest.config import DataConfig
from components.ingest.sources.base import Row
from components.ingest.sources.idx import PixelBlock
from tests.components import data_factories

CLASS_NAMES = ("ant", "bee", "cat")
SIZES = {"train": 600, "validation": 150, "test": 150}
# As many different words as a small corpus has.
WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u")]
WORDS = [first + second for first in WORDS for second in WORDS]


@dataclasses.dataclass
class RowBlock:
    """Rows of one split, in memory."""

    split: str
    held: Sequence[Row]

    def rows(self) -> Iterator[Row]:
        return iter(self.held)


@dataclasses.dataclass
class MemorySource:
    """Blocks in memory; every split is given."""

    held: list[Any]
    origin: str = "memory"
    num_bytes: int = 0

    @property
    def given_splits(self) -> frozenset[str]:
        return frozenset(SIZES)

    def files(self) -> dict[str, Path]:
        return {}

    def blocks(self) -> Iterator[Any]:
        return iter(self.held)

    def times(self) -> Iterator[np.ndarray]:
        """Splits by time ask for these to find their borders; here the borders are given."""
        yield np.arange(10)


def ingest_rows(rows: dict[str, list[Row]], data: DataConfig, folder: Path) -> Path:
    """Ingests rows by split and returns the dataset's folder."""
    blocks = [
        RowBlock(split, found[first : first + 50])
        for split, found in rows.items()
        for first in range(0, len(found), 50)
    ]
    return ingest.ingest_source(MemorySource(blocks), data, seed=0, cache_dir=folder).path


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
    """600, 150 and 150 images without faults; labels are drawn by lot."""
    return {
        split: (smooth_images(size, seed=size + number, channels=channels), labels(size, number))
        for number, (split, size) in enumerate(SIZES.items())
    }


def labels(size: int, seed: int) -> np.ndarray:
    """Returns as many labels of each class, in random order."""
    return np.random.default_rng(seed).permutation(np.arange(size) % len(CLASS_NAMES))


def ingest_arrays(arrays: dict[str, tuple[np.ndarray, np.ndarray]], folder: Path) -> Path:
    """Ingests images and returns the dataset's folder."""
    channels = arrays["train"][0].shape[3]
    data = data_factories.data_config(
        image={"height_px": 32, "width_px": 32, "channels": channels},
        label={"class_names": list(CLASS_NAMES)},
    )
    blocks = [
        PixelBlock(split, first, images[first : first + 50], found[first : first + 50])
        for split, (images, found) in arrays.items()
        for first in range(0, len(images), 50)
    ]
    return ingest.ingest_source(MemorySource(blocks), data, seed=0, cache_dir=folder).path


def open_arrays(arrays: dict[str, tuple[np.ndarray, np.ndarray]], folder: Path) -> Dataset:
    """Ingests images and opens what the guard sees of them."""
    return Dataset.open(ingest_arrays(arrays, folder))


@dataclasses.dataclass
class Tables:
    """Columns by split: numbers "a" to "c", names "d", and labels; tests plant their faults."""

    columns: dict[str, dict[str, np.ndarray]]
    labels: dict[str, np.ndarray]
    groups: dict[str, list[bytes]] | None = None
    times: dict[str, list[int]] | None = None
    split_by: str = "hash"
    target: bool = False

    @classmethod
    def clean(cls) -> "Tables":
        columns = {}
        for number, (split, size) in enumerate(SIZES.items()):
            generator = np.random.default_rng(number)
            columns[split] = {
                **{name: generator.normal(size=size).astype(np.float32) for name in "abc"},
                "d": generator.choice(np.array([b"red", b"green", b"blue"], object), size),
            }
        answers = {name: labels(size, seed) for seed, (name, size) in enumerate(SIZES.items())}
        return cls(columns, answers)

    def add(self, name: str, make: Any) -> None:
        """Adds a column: `make` takes the labels of a split and returns its values."""
        for split, found in self.labels.items():
            self.columns[split][name] = np.asarray(make(found))

    def ingest(self, folder: Path) -> Path:
        """Ingests the rows and returns the dataset's folder."""
        return ingest_rows({split: self._rows(split) for split in SIZES}, self._config(), folder)

    def open(self, folder: Path) -> Dataset:
        """Ingests the rows and opens what the guard sees of them."""
        return Dataset.open(self.ingest(folder))

    def _config(self) -> DataConfig:
        kinds = {
            name: {"kind": "category" if values.dtype == object else "number"}
            for name, values in self.columns["train"].items()
        }
        answer = {"target": {"source_name": "target"}} if self.target else {}
        splits: dict[str, Any] = {"by": self.split_by, "validation_share": 0.1}
        if self.split_by != "hash":
            splits["key"] = "key"
        return DataConfig.from_dict(
            {
                "source": {"kind": "csv", "path": "/rows.csv"},
                "table": {"columns": kinds},
                "splits": splits,
                **(answer or {"label": {"class_names": list(CLASS_NAMES)}}),
            }
        )

    def _rows(self, split: str) -> list[Row]:
        rows = []
        for index, label in enumerate(self.labels[split]):
            features = {name: values[index] for name, values in self.columns[split].items()}
            features = {
                name: value if isinstance(value, bytes) else float(value)
                for name, value in features.items()
            }
            if self.target:
                features["target"] = float(label)
            rows.append(
                Row(
                    f"{split}/{index:08d}",
                    features,
                    None if self.target else int(label),
                    repr(features).encode(),
                    group=self.groups[split][index] if self.groups else None,
                    time=self.times[split][index] if self.times else None,
                )
            )
        return rows


def clean_texts(*, num_words: int = 25) -> dict[str, tuple[list[str], np.ndarray]]:
    """600, 150 and 150 texts of random words, and their labels, by lot."""
    texts = {}
    for number, (split, size) in enumerate(SIZES.items()):
        generator = np.random.default_rng(number)
        words = generator.choice(WORDS, (size, num_words))
        texts[split] = ([" ".join(row) for row in words], labels(size, number))
    return texts


def ingest_texts(texts: dict[str, tuple[list[str], np.ndarray]], folder: Path) -> Path:
    """Ingests texts and returns the dataset's folder."""
    data = DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": "/rows.csv"},
            "text": {},
            "label": {"class_names": list(CLASS_NAMES)},
        }
    )
    rows = {
        split: [
            Row(f"{split}/{index:08d}", {"text": text.encode()}, int(label), text.encode())
            for index, (text, label) in enumerate(zip(found, answers, strict=True))
        ]
        for split, (found, answers) in texts.items()
    }
    return ingest_rows(rows, data, folder)


def open_texts(texts: dict[str, tuple[list[str], np.ndarray]], folder: Path) -> Dataset:
    """Ingests texts and opens what the guard sees of them."""
    return Dataset.open(ingest_texts(texts, folder))


def voices(num: int, *, seed: int) -> list[np.ndarray]:
    """float64 recordings of about a second at 8 kHz: tones one after another, like no other."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(num):
        tones = []
        for length in generator.integers(600, 2400, generator.integers(4, 9)):
            pitches_hz = generator.uniform(150, 3500, (3, 1))
            tone = np.sin(2 * np.pi * pitches_hz * np.arange(length) / 8000)
            # The higher the softer, as in speech.
            tone = (tone * 150 / pitches_hz).sum(0)
            tones.append(tone * np.hanning(length) * generator.uniform(0.05, 0.4))
        found.append(np.concatenate(tones))
    return found


def wav(samples: np.ndarray) -> bytes:
    """Returns samples of 8 kHz as a WAV file of 16-bit PCM."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, 8000, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def ingest_recordings(held: dict[str, list[np.ndarray]], folder: Path) -> Path:
    """Ingests recordings of three classes and returns the dataset's folder."""
    data = DataConfig.from_dict(
        {
            "source": {"kind": "audio_folder", "path": "/sounds"},
            "audio": {"sample_rate_hz": 8000, "max_seconds": 1.0},
            "label": {"class_names": list(CLASS_NAMES)},
        }
    )
    rows = {
        split: [
            Row(f"{split}/{index}", {"audio": wav(samples)}, index % 3, wav(samples))
            for index, samples in enumerate(found)
        ]
        for split, found in held.items()
    }
    return ingest_rows(rows, data, folder)


def walks(num: int, *, seed: int, num_channels: int = 1) -> list[np.ndarray]:
    """float32 pasts (64, C) that wander about."""
    steps = np.random.default_rng(seed).normal(size=(num, 64, num_channels))
    return list(np.cumsum(steps, axis=1).astype(np.float32))


def ingest_windows(histories: dict[str, list[np.ndarray]], folder: Path) -> Path:
    """Ingests windows, each a past (T, C), and returns the dataset's folder."""
    num_steps, num_channels = histories["train"][0].shape
    data = DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": "/series.csv"},
            "series": {
                "time": "time",
                "value": "value",
                "covariates": [f"covariate_{index}" for index in range(1, num_channels)],
                "history_steps": num_steps,
                "horizon_steps": 1,
                "period_steps": 4,
            },
            "splits": {"by": "time", "key": "time"},
        }
    )
    rows = {
        split: [
            Row(f"{split}/{index}", {"history": past.ravel()}, None, past.tobytes(), time=index)
            for index, past in enumerate(found)
        ]
        for split, found in histories.items()
    }
    return ingest_rows(rows, data, folder)
