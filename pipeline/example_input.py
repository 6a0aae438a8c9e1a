"""Takes one test example out of a dataset, so that the command which asks can be tried."""

import json
import pathlib
from typing import Any

from components.ingest import example, tfrecord
from components.ingest.config import DataConfig
from pipeline import questions

_PNG_START = b"\x89PNG"
_SUFFIXES = {"image": ".jpg", "audio": ".wav"}

Values = list[Any]


def ask_words(data: DataConfig, dataset_dir: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Returns the words after `kerasline predict --model M` that ask about a test example.

    An image or a recording is written as `example.png`, `example.jpg` or `example.wav`, and the
    past of a series, which is long, as `example.json`.

    Args:
        data: The recipe's data.
        dataset_dir: The path that `components.ingest.ingest.ingest` returns; its test split is not
            empty, because ingest refuses such data.
        folder: Where a file is written.
    """
    values = _first_example(dataset_dir)
    option = questions.OPTIONS[data.input_name]
    if data.input_name in _SUFFIXES:
        return [option, str(_write_file(values[data.input_name][0], data.input_name, folder))]
    if data.text is not None:
        return [option, values["text"][0].decode(errors="replace")]
    row = json.dumps(_row(data, values), ensure_ascii=False)
    if data.series is None:
        return [option, row]
    path = folder / "example.json"
    path.write_text(row + "\n", encoding="utf-8")
    return [option, f"@{path}"]


def _first_example(dataset_dir: pathlib.Path) -> dict[str, Values]:
    shards = sorted(dataset_dir.glob("Split-test/data_tfrecord-*"))
    record = next(record for shard in shards for record in tfrecord.read_records(shard))
    values: dict[str, Values] = example.decode_example(record)
    return values


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
    there = {name: values[name][0] for name in columns if values.get(name)}
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else _short(value)
        for name, value in there.items()
    }


def _short(number: float) -> float:
    """Rounds away the digits that a float32 does not have, so that 12.45 is shown as it was."""
    return float(f"{number:.7g}")
