"""Takes examples out of a dataset: to show them, and to ask a new model about one."""

import itertools
import json
import math
import pathlib
from collections.abc import Iterator
from typing import Any

from components.ingest import example, tfrecord
from components.ingest.config import DataConfig
from components.ingest.features.config import (
    LABEL_FEATURE,
    TARGET_FEATURE,
    TEXT_FEATURE,
    Column,
    SequenceColumn,
)
from pipeline import questions

_PNG_START = b"\x89PNG"
_SUFFIXES = {"image": ".jpg", "audio": ".wav"}
# A command should fit on a few lines.
_ASKED_CHARACTERS = 200

Values = list[Any]


def ask_words(data: DataConfig, dataset_dir: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Returns the words after `kerasline predict --model M` that ask about a test example.

    An image or a recording is written as `example.png`, `example.jpg` or `example.wav`, and the
    past of a series or a row with a list, which are long, as `example.json`.

    Args:
        data: The recipe's data.
        dataset_dir: The path that `components.ingest.ingest.ingest` returns; its test split is not
            empty, because ingest refuses such data.
        folder: Where a file is written.
    """
    values = next(_examples(dataset_dir, "test"))
    option = questions.OPTIONS[data.input_name]
    if data.input_name in _SUFFIXES:
        return [option, str(_write_file(values[data.input_name][0], data.input_name, folder))]
    if data.text is not None:
        return [option, _text(values)[:_ASKED_CHARACTERS]]
    row = json.dumps(_row(data, values), ensure_ascii=False)
    if data.series is None and not (data.table and data.table.sequences()):
        return [option, row]
    path = folder / "example.json"
    path.write_text(row + "\n", encoding="utf-8")
    return [option, f"@{path}"]


def rows(data: DataConfig, dataset_dir: pathlib.Path, *, split: str, count: int) -> list[str]:
    """Returns the first examples of a split, each as its answer and what it holds, for people.

    Args:
        data: The recipe's data, with a text or a table.
        dataset_dir: The path that `components.ingest.ingest.ingest` returns.
        split: Such as "train".
        count: How many at most.
    """
    examples = itertools.islice(_examples(dataset_dir, split), count)
    return [f"{_answer(data, values)}: {_shown(data, values)}" for values in examples]


def _answer(data: DataConfig, values: dict[str, Values]) -> str:
    if data.label is not None:
        return data.label.class_names[values[LABEL_FEATURE][0]]
    return ", ".join(f"{number:.7g}" for number in values[TARGET_FEATURE])


def _text(values: dict[str, Values]) -> str:
    return str(values[TEXT_FEATURE][0].decode(errors="replace"))


def _shown(data: DataConfig, values: dict[str, Values]) -> str:
    if data.text is not None:
        return _text(values)
    return json.dumps(_row(data, values), ensure_ascii=False)


def _examples(dataset_dir: pathlib.Path, split: str) -> Iterator[dict[str, Values]]:
    for shard in sorted(dataset_dir.glob(f"Split-{split}/data_tfrecord-*")):
        for record in tfrecord.read_records(shard):
            yield example.decode_example(record)


def _write_file(content: bytes, kind: str, folder: pathlib.Path) -> pathlib.Path:
    suffix = ".png" if content.startswith(_PNG_START) else _SUFFIXES[kind]
    path = folder / f"example{suffix}"
    path.write_bytes(content)
    return path


def _row(data: DataConfig, values: dict[str, Values]) -> dict[str, Any]:
    if data.series is not None:
        history = [_short(number) for number in values["history"]]
        width = data.series.num_channels
        return {"history": [history[i : i + width] for i in range(0, len(history), width)]}
    columns = data.table.columns if data.table else {}
    return {
        name: _shown_value(values[name], column)
        for name, column in columns.items()
        if values.get(name)
    }


def _shown_value(values: Values, column: Column) -> Any:
    if isinstance(column, SequenceColumn):
        numbers = [None if math.isnan(number) else _short(number) for number in values]
        width = column.channels
        if width == 1:
            return numbers
        return [numbers[i : i + width] for i in range(0, len(numbers), width)]
    value = values[0]
    return value.decode(errors="replace") if isinstance(value, bytes) else _short(value)


def _short(number: float) -> float:
    """Rounds away the digits that a float32 does not have, so that 12.45 is shown as it was."""
    return float(f"{number:.7g}")
