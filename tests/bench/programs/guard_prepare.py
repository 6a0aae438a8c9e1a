"""Ingests synthetic images, texts or rows of a table; prints the dataset's folder as JSON.

Arguments: kind (image, text or table), number of rows, cache folder.
"""

import dataclasses
import json
import pathlib
import sys
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
        make = text_rows if self.kind == "text" else table_rows
        for index, values in enumerate(make(generator, self.count)):
            content = repr(values).encode()
            yield Row(f"{self.split}/{self.first_row + index}", values, labels[index], content)


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


@dataclasses.dataclass(frozen=True)
class SyntheticRows:
    """`num_rows` rows, of which every tenth block is for testing."""

    kind: str
    num_rows: int
    origin: str = "synthetic"
    given_splits: frozenset[str] = frozenset({"train", "test"})

    @property
    def num_bytes(self) -> int:
        return self.num_rows * 300

    def files(self) -> dict[str, pathlib.Path]:
        return {}

    def blocks(self) -> Iterator[SyntheticBlock]:
        for number, first in enumerate(range(0, self.num_rows, _BLOCK_ROWS)):
            split = "train" if number % 10 else "test"
            count = min(_BLOCK_ROWS, self.num_rows - first)
            yield SyntheticBlock(self.kind, split, first, count)


def data_config(kind: str) -> DataConfig:
    """Returns the data of a recipe for one kind of input."""
    columns = {name: {"kind": "number"} for name in _NUMBERS}
    columns.update({name: {"kind": "category"} for name in _NAMES})
    inputs = {
        "image": {"height_px": 28, "width_px": 28, "channels": 1},
        "text": {},
        "table": {"columns": columns},
    }
    return DataConfig.from_dict(
        {
            "source": {"kind": "sklearn", "name": "digits"},
            kind: inputs[kind],
            "label": {"class_names": ["ant", "bee", "cat"]},
        }
    )


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
