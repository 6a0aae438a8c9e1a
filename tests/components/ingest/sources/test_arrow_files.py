import datetime
import io

import numpy as np
import PIL.Image
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from components.ingest import example, resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import arrow_files
from components.ingest.sources.base import Reject

TABLE = pyarrow.table(
    {
        "size": pyarrow.array([1, None, 3], pyarrow.int32()),
        "colour": pyarrow.array(["red", "", None]).dictionary_encode(),
        "when": pyarrow.array([datetime.datetime(2026, 1, 1, 12)] * 3, pyarrow.timestamp("ms")),
        "unused": [[1], [2], [3]],
        "kind": [True, False, True],
    }
)


def config(path, columns=None, **changes):
    kinds = columns or {"size": "number", "colour": "category"}
    values = {
        "source": {"kind": "parquet", "path": str(path)},
        "table": {"columns": {name: {"kind": kind} for name, kind in kinds.items()}},
        "label": {"source_name": "kind", "class_names": ["false", "true"]},
        "splits": {"by": "time", "key": "when", "test_share": 0.1},
    }
    return DataConfig.from_dict({**values, **changes})


def read(data):
    return [row for block in resolve.open_source(data, None).blocks() for row in block.rows()]


def write_stream(table, path):
    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    "write",
    [
        pyarrow.parquet.write_table,
        pyarrow.feather.write_feather,
        write_stream,
        lambda table, path: pyarrow.parquet.write_table(table, path, row_group_size=1),
    ],
)
def test_every_arrow_format_gives_the_same_rows(tmp_path, write):
    write(TABLE, str(tmp_path / "t"))
    rows = read(config(tmp_path / "t"))
    found = [example.decode_example(row.example) for row in rows]
    assert [(row["size"], row["colour"], row["label"]) for row in found] == [
        ([1.0], [b"red"], [1]),
        ([], [], [0]),
        ([3.0], [], [1]),
    ]
    assert [row.key for row in rows] == ["t:0", "t:1", "t:2"]
    assert {row.time for row in rows} == {1767268800}


def test_blocks_of_a_large_batch_hold_only_their_rows(tmp_path):
    table = pyarrow.table({"size": np.arange(10_000.0), "kind": ["x"] * 10_000})
    write_stream(table, str(tmp_path / "t"))
    labels = {"source_name": "kind", "class_names": ["x", "y"]}
    data = config(tmp_path / "t", {"size": "number"}, label=labels, splits={"test_share": 0.1})
    blocks = list(resolve.open_source(data, None).blocks())
    assert [len(block.columns["size"]) for block in blocks] == [4096, 4096, 1808]
    assert max(block.columns["size"].get_total_buffer_size() for block in blocks) < 40_000


def test_images_are_read_from_bytes_and_from_structures_with_bytes(tmp_path):
    buffer = io.BytesIO()
    PIL.Image.new("L", (4, 4), 9).save(buffer, "PNG")
    good = buffer.getvalue()
    for column in ([good, b"no"], [{"bytes": good, "path": "a"}, {"bytes": b"no", "path": "b"}]):
        table = pyarrow.table({"picture": column, "kind": ["false", "true"]})
        pyarrow.parquet.write_table(table, tmp_path / "t")
        image = {"source_name": "picture", "height_px": 4, "width_px": 4, "channels": 1}
        data = config(tmp_path / "t", table=None, image=image, splits={"test_share": 0.1})
        row, reject = read(data)
        assert example.decode_example(row.example)["image"] == [good]
        assert reject == Reject("t:1", "it is not an image that Pillow can read")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"unused": "number"}, r'the column "unused" to hold one value a row. Received: list'),
        ({"sise": "number"}, r'Expected a column "sise" in .* Did you mean "size"\?'),
    ],
)
def test_a_column_that_cannot_be_read_stops_the_ingest(tmp_path, columns, message):
    pyarrow.parquet.write_table(TABLE, tmp_path / "t")
    with pytest.raises(DataError, match=message):
        read(config(tmp_path / "t", columns))


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"", b"PAR1 cut short"])
def test_a_file_of_another_kind_stops_the_ingest(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(DataError, match=r"to be a (whole )?Parquet, Arrow or Feather file"):
        read(config(tmp_path / "t"))


def test_times_are_dates_texts_and_numbers_of_any_unit():
    seconds = 1767268800
    iso = pyarrow.array(["2026-01-01 12:00", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00+01:00"])
    arrays = [
        TABLE["when"].combine_chunks(),
        iso,
        pyarrow.array([f"{seconds}"]),
        *(pyarrow.array([seconds * 1000**power]) for power in range(4)),
    ]
    for array in arrays:
        problems = arrow_files.columns.Problems()
        found = arrow_files.columns.seconds("when", array, problems)
        assert (set(found.tolist()), problems) == ({seconds}, {})


def test_a_missing_or_unreadable_time_is_told(tmp_path):
    problems = arrow_files.columns.Problems()
    arrow_files.columns.seconds("when", pyarrow.array(["noon", None, "2026-01-01"]), problems)
    reason = "its when is no time in ISO 8601 or in seconds"
    assert problems == {0: reason, 1: reason}
