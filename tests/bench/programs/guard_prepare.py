"""Ingests synthetic examples of one kind; prints the dataset's folder as JSON.

Arguments: kind (image, text, audio, table or series), number of rows, cache folder.
"""

import dataclasses
import io
import json
import pathlib
import sys
import wave
from collections.abc import Iterator

import numpy as np

from components.ingest import ingest
from components.ingest.config import DataConfig
from components.ingest.sources.base import Row
from tests.components import data_factories

_BLOCK_ROWS = 500
_NUMBERS = tuple(f"number_{index}" for index in range(10))
_NAMES = tuple(f"name_{index}" for index in range(5))
# Words of a text, how many there are to choose from, and how much oftener the frequent ones come.
_NUM_WORDS, _VOCABULARY, _SKEW = 40, 20_000, 3.0
_RATE_HZ, _NUM_TONES, _TONE_SAMPLES = 8000, 8, 500
_HISTORY_STEPS, _HORIZON_STEPS = 96, 24


@dataclasses.dataclass(frozen=True)
class SyntheticBlock:
    """Random rows, made where they are written."""

    kind: str
    split: str
    first_row: int
    count: int

    def rows(self) -> Iterator[Row]:
        generator = np.random.default_rng(self.first_row)
        labels = generator.integers(0, data_factories.NUM_CLASSES, self.count).tolist()
        for index, values in enumerate(_MAKE[self.kind](generator, self.count)):
            content = repr(values).encode()
            key = f"{self.split}/{self.first_row + index}"
            if self.kind == "series":
                yield Row(key, values, None, content, time=_TIMES[self.split])
            else:
                yield Row(key, values, labels[index], content)


def text_rows(generator: np.random.Generator, count: int) -> list[dict[str, bytes]]:
    """Returns texts of words of which some are far more frequent than others."""
    ids = (generator.random((count, _NUM_WORDS)) ** _SKEW * _VOCABULARY).astype(int)
    return [{"text": " ".join(f"w{word}" for word in row).encode()} for row in ids.tolist()]


def table_rows(generator: np.random.Generator, count: int) -> list[dict[str, float | bytes]]:
    """Returns rows of ten normal numbers and five names out of twenty."""
    numbers = generator.standard_normal((count, len(_NUMBERS))).tolist()
    names = generator.integers(0, 20, (count, len(_NAMES))).tolist()
    return [
        {
            **dict(zip(_NUMBERS, row, strict=True)),
            **{name: b"value %d" % value for name, value in zip(_NAMES, chosen, strict=True)},
        }
        for row, chosen in zip(numbers, names, strict=True)
    ]


def audio_rows(generator: np.random.Generator, count: int) -> list[dict[str, bytes]]:
    """Returns recordings of half a second, eight tones one after another."""
    pitches_hz = generator.uniform(150, 3500, (count, _NUM_TONES, 1))
    levels = generator.uniform(500, 8000, (count, _NUM_TONES, 1))
    times = np.arange(_TONE_SAMPLES) / _RATE_HZ
    tones = levels * np.sin(2 * np.pi * pitches_hz * times) * np.hanning(_TONE_SAMPLES)
    return [{"audio": _wav(samples)} for samples in tones.reshape(count, -1).astype("<i2")]


def _wav(samples_N: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, _RATE_HZ, len(samples_N), "NONE", ""))
        file.writeframes(samples_N.tobytes())
    return buffer.getvalue()


def series_rows(generator: np.random.Generator, count: int) -> list[dict[str, np.ndarray]]:
    """Returns windows that wander about."""
    steps = generator.standard_normal((count, _HISTORY_STEPS + _HORIZON_STEPS), np.float32)
    walks = np.cumsum(steps, axis=1)
    return [{"history": row[:_HISTORY_STEPS], "target": row[_HISTORY_STEPS:]} for row in walks]


# A kind that a recipe's data can come from; nothing is read.
_SOURCES = {"image": "image_folder", "audio": "audio_folder"}
# One time for all windows of a split, so that none is later than a later split's.
_TIMES = {"train": 0, "validation": 1, "test": 2}
_MAKE = {"text": text_rows, "table": table_rows, "audio": audio_rows, "series": series_rows}


@dataclasses.dataclass(frozen=True)
class SyntheticRows:
    """`num_rows` rows; every tenth block is for testing, and every tenth one for validation."""

    kind: str
    num_rows: int
    origin: str = "synthetic"
    given_splits: frozenset[str] = frozenset({"train", "validation", "test"})

    @property
    def num_bytes(self) -> int:
        return self.num_rows * 300

    def files(self) -> dict[str, pathlib.Path]:
        return {}

    def times(self) -> Iterator[np.ndarray]:
        """Splits by time ask for these to find their borders; here the borders are given."""
        yield np.arange(10)

    def blocks(self) -> Iterator[SyntheticBlock]:
        for number, first in enumerate(range(0, self.num_rows, _BLOCK_ROWS)):
            split = {0: "test", 1: "validation"}.get(number % 10, "train")
            count = min(_BLOCK_ROWS, self.num_rows - first)
            yield SyntheticBlock(self.kind, split, first, count)


def data_config(kind: str) -> DataConfig:
    """Returns the data of a recipe for one kind of input."""
    columns = {name: {"kind": "number"} for name in _NUMBERS}
    columns.update({name: {"kind": "category"} for name in _NAMES})
    inputs = {
        "image": {"height_px": 28, "width_px": 28, "channels": 1},
        "text": {},
        "audio": {"sample_rate_hz": _RATE_HZ, "max_seconds": 0.5},
        "table": {"columns": columns},
        "series": {
            "time": "time",
            "value": "value",
            "history_steps": _HISTORY_STEPS,
            "horizon_steps": _HORIZON_STEPS,
        },
    }
    answer = (
        {"splits": {"by": "time", "key": "time"}}
        if kind == "series"
        else {"label": {"class_names": ["ant", "bee", "cat"]}}
    )
    source = {"kind": _SOURCES.get(kind, "csv"), "path": "/rows"}
    return DataConfig.from_dict({"source": source, kind: inputs[kind], **answer})


def main() -> None:
    """Ingests the rows and prints where they are."""
    kind, num_rows, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    source = (
        data_factories.SyntheticSource(num_rows)
        if kind == "image"
        else SyntheticRows(kind, num_rows)
    )
    found = ingest.ingest_source(source, data_config(kind), seed=0, cache_dir=folder)
    print(json.dumps({"folder": str(found.path)}))


if __name__ == "__main__":
    main()
