"""Columns of lists of numbers, from every kind of file that can hold them."""

import json
import math

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from components.ingest import example, resolve, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.features.config import SequenceColumn
from components.ingest.sources import columns, sequences
from components.ingest.sources.base import Reject

STEPS = [[[1.0, 10.0], [2.0, 20.0]], [[3.0, 30.0], [4.0, 40.0]], [[5.0, 50.0], [6.0, None]]]
FLAT = [[1.0, 10.0, 2.0, 20.0], [3.0, 30.0, 4.0, 40.0], [5.0, 50.0, 6.0, math.nan]]


def read(array, *, problems=None, **settings):
    column = SequenceColumn(kind="sequence", **settings)
    found = columns.Problems() if problems is None else problems
    return [row.tolist() for row in sequences.read("x", array, column, found)], found


def config(kind, path):
    values = {
        "source": {"kind": kind, "path": str(path)},
        "table": {"columns": {"x": {"kind": "sequence", "length": 2, "channels": 2}}},
        "label": {"source_name": "y", "class_names": ["ant", "bee"]},
        "splits": {"test_share": 0.1},
    }
    return DataConfig.from_dict(values)


def write_parquet(path):
    pyarrow.parquet.write_table(pyarrow.table({"x": STEPS, "y": [0, 1, 0]}), path)


def write_arrow(path):
    kind = pyarrow.list_(pyarrow.list_(pyarrow.float32(), 2), 2)
    table = pyarrow.table({"x": pyarrow.array(STEPS, kind), "y": [0, 1, 0]})
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_jsonl(path):
    lines = [json.dumps({"x": x, "y": y}) for x, y in zip(STEPS, (0, 1, 0), strict=True)]
    path.write_text("\n".join(lines))


def write_csv(path):
    lines = [f'"{json.dumps(x)}",{y}' for x, y in zip(STEPS, ("ant", "bee", "ant"), strict=True)]
    path.write_text("\n".join(["x,y", *lines]))


def write_tfrecord(path):
    writer = tfrecord.RecordWriter(path)
    for values, label in zip(FLAT, (0, 1, 0), strict=True):
        writer.write(example.encode_example({"x": values, "y": label}))
    writer.close()


def write_numpy(path):
    np.savez(path, x=np.array(FLAT).reshape(3, 2, 2), y=np.array([0, 1, 0]))


@pytest.mark.parametrize(
    ("kind", "name", "write"),
    [
        ("parquet", "a.parquet", write_parquet),
        ("parquet", "a.arrow", write_arrow),
        ("jsonl", "a.jsonl", write_jsonl),
        ("csv", "a.csv", write_csv),
        ("tfrecord", "a.tfrecord", write_tfrecord),
        ("numpy", "a.npz", write_numpy),
    ],
)
def test_every_kind_of_file_gives_the_same_examples(tmp_path, kind, name, write):
    write(tmp_path / name)
    blocks = resolve.open_source(config(kind, tmp_path / name), None).blocks()
    rows = [row for block in blocks for row in block.rows()]
    found = [example.decode_example(row.example) for row in rows]
    np.testing.assert_array_equal([row["x"] for row in found], FLAT)
    assert [row["label"] for row in found] == [[0], [1], [0]]


def test_a_list_of_another_length_is_told_with_its_cure():
    found, problems = read(pyarrow.array([[1, 2, 3], [1, 2]]), length=3)
    assert found == [[1.0, 2.0, 3.0], []]
    assert problems == {
        1: "its x has 2 steps instead of 3: correct the column's length in data.table.columns, or "
        "set any_length = true to have it padded or cut off"
    }


def test_lists_of_any_length_are_cut_off_and_left_to_be_padded():
    array = pyarrow.array([[1, 2, 3, 4, 5, 6], [7, 8], None, []])
    found, problems = read(array, length=2, channels=2, any_length=True)
    assert found == [[1.0, 2.0, 3.0, 4.0], [7.0, 8.0], [], []]
    assert not problems


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0, 3.0]], "its x has 3 numbers, no whole steps of 2"),
        ([[[1.0], [2.0]]], "its x has steps of 1 numbers instead of 2"),
        ([[[1.0, 2.0], [2.0]]], "its x has steps of 1 to 2 numbers: each step must have as many"),
        ([[1.0, 1e39]], "its x holds 1e+39, which is infinite or beyond 32-bit floats"),
        (["[1, true]"], "its x is '[1, true]', which is no list of numbers"),
        (["1; 2"], "its x is '1; 2', which is no list of numbers"),
    ],
)
def test_a_row_that_cannot_be_used_is_noted_with_the_reason(values, message):
    found, problems = read(pyarrow.array(values), length=1, channels=2, any_length=True)
    assert found == [[]]
    assert problems[0].startswith(message)


def test_a_column_of_single_numbers_is_refused():
    with pytest.raises(DataError, match=r"to hold lists of numbers\. Received: int64\. Correct"):
        read(pyarrow.array([1, 2]), length=2)


def test_a_slice_of_a_column_is_read_as_itself():
    found, _ = read(pyarrow.array(STEPS).slice(1, 1), length=2, channels=2)
    assert found == [FLAT[1]]


def test_a_numpy_array_of_other_channels_is_refused_before_it_is_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2, 5)), y=np.zeros(3, int))
    source = resolve.open_source(config("numpy", tmp_path / "a.npz"), None)
    with pytest.raises(DataError, match=r"with 2 channels\. Received: rows of shape \(2, 5\)"):
        list(source.blocks())


def test_a_rejected_row_names_its_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": [[1, 2]], "y": 0}\n')
    blocks = resolve.open_source(config("jsonl", tmp_path / "a.jsonl"), None).blocks()
    (row,) = [row for block in blocks for row in block.rows()]
    assert isinstance(row, Reject)
    assert row.key == "a.jsonl:1"


def test_the_shape_of_a_column_is_seen_in_its_lists():
    assert sequences.shape("x", pyarrow.array(STEPS)) == SequenceColumn(
        kind="sequence", length=2, channels=2
    )
    assert sequences.shape("x", pyarrow.array([[1], [1, 2, 3]])) == SequenceColumn(
        kind="sequence", length=3, any_length=True
    )
