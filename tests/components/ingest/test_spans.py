"""Data that grew: what was read stays, and the whole is what reading everything gives.

Rows are compared with pandas' own reading of the files, through TensorFlow's parser.
"""

import os

import pandas as pd
import pytest
import tensorflow as tf

from components import progress
from components.ingest import ingest, spans
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources import csv_files

SPLITS = ("train", "validation", "test")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """A file of 1,500 bytes fills a shard, and two of 600 share a span."""
    monkeypatch.setattr(spans, "_SHARD_BYTES", 6_000)
    monkeypatch.setattr(spans, "_MIN_SHARDS", 1)


@pytest.fixture
def read(monkeypatch):
    """The names of the files that were read, in order."""
    names = []
    original = csv_files.read_blocks

    def note(split, file, source, data):
        names.append(file.name)
        return original(split, file, source, data)

    monkeypatch.setitem(spans.file_source._READERS, "csv", note)
    return names


def write_trips(folder, name, *, first, count=100):
    folder.mkdir(exist_ok=True)
    rows = range(first, first + count)
    lines = [f"{row},{row / 8},{'Blue' if row % 3 else ''},{row % 2}\n" for row in rows]
    (folder / name).write_text("id,miles,company,tip\n" + "".join(lines))


def ingest_trips(folder, cache, **changes):
    values = {
        "source": {"kind": "csv", "path": f"{folder}/*.csv"},
        "table": {
            "columns": {
                "id": {"kind": "number"},
                "miles": {"kind": "number"},
                "company": {"kind": "category"},
            }
        },
        "label": {"source_name": "tip", "class_names": ["0", "1"]},
        "splits": {"validation_share": 0.2, "test_share": 0.2},
    }
    data = DataConfig.from_dict({**values, **changes})
    return ingest.ingest(data, seed=1, cache_dir=cache)


def parse(dataset, split):
    """Reads a split as TensorFlow does, one row of a table per example, in order of `id`."""
    paths = [str(dataset.path / shard.path) for shard in dataset.manifest.splits[split].shards]
    examples = list(tf.data.TFRecordDataset(paths))
    parsed = tf.io.parse_example(
        examples,
        {
            "id": tf.io.FixedLenFeature([], tf.float32),
            "miles": tf.io.FixedLenFeature([], tf.float32),
            "company": tf.io.FixedLenFeature([], tf.string, default_value=""),
            "label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    table = pd.DataFrame({name: values.numpy() for name, values in parsed.items()})
    return table.sort_values("id").reset_index(drop=True)


def split_of_rows(dataset):
    return {row: split for split in SPLITS for row in parse(dataset, split)["id"].astype(int)}


@pytest.fixture
def grown(tmp_path):
    """A folder whose two files were ingested before the third came."""
    folder = tmp_path / "trips"
    write_trips(folder, "a.csv", first=0)
    write_trips(folder, "b.csv", first=100)
    before = ingest_trips(folder, tmp_path / "cache")
    write_trips(folder, "c.csv", first=200)
    return folder, tmp_path / "cache", before


def test_only_a_new_file_is_read(grown, read):
    folder, cache, _ = grown
    ingest_trips(folder, cache)
    assert read == ["c.csv"]


def test_what_grew_is_bit_for_bit_what_a_whole_reading_gives(grown, tmp_path):
    folder, cache, _ = grown
    after, whole = ingest_trips(folder, cache), ingest_trips(folder, tmp_path / "other")
    assert after.manifest == whole.manifest
    for shard in whole.manifest.shards():
        paths = (after.path / shard.path, whole.path / shard.path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_examples_of_data_that_grew_are_the_rows_that_pandas_reads(grown):
    folder, cache, _ = grown
    dataset = ingest_trips(folder, cache)
    found = pd.concat([parse(dataset, split) for split in SPLITS]).sort_values("id")
    files = [pd.read_csv(path, keep_default_na=False) for path in sorted(folder.iterdir())]
    expected = pd.concat(files).sort_values("id")
    assert found["id"].tolist() == expected["id"].tolist()
    assert found["miles"].tolist() == expected["miles"].tolist()
    assert [name.decode() for name in found["company"]] == expected["company"].tolist()
    assert found["label"].tolist() == expected["tip"].tolist()


def test_a_row_keeps_its_split_when_files_are_added(grown):
    folder, cache, before = grown
    assert split_of_rows(before).items() <= split_of_rows(ingest_trips(folder, cache)).items()


def test_shards_that_were_there_are_not_written_again(grown):
    folder, cache, before = grown
    after = ingest_trips(folder, cache)
    inodes = {(after.path / shard.path).stat().st_ino for shard in after.manifest.shards()}
    assert {(before.path / s.path).stat().st_ino for s in before.manifest.shards()} <= inodes


def test_of_a_changed_file_its_own_span_is_read(grown, read):
    folder, cache, _ = grown
    write_trips(folder, "a.csv", first=1000)
    dataset = ingest_trips(folder, cache)
    assert read == ["a.csv", "c.csv"]
    assert set(split_of_rows(dataset)) == {*range(1000, 1100), *range(100, 300)}


def test_rows_of_a_file_that_is_gone_are_gone(grown, read):
    folder, cache, _ = grown
    (folder / "a.csv").unlink()
    dataset = ingest_trips(folder, cache)
    assert read == ["c.csv"] and set(split_of_rows(dataset)) == set(range(100, 300))


def test_the_manifest_says_which_files_a_shard_came_from(grown):
    folder, cache, _ = grown
    manifest = ingest_trips(folder, cache).manifest
    assert [span.files for span in manifest.spans] == [(f"train/{n}.csv",) for n in "abc"]
    for number, span in enumerate(manifest.spans):
        rows = [shard.num_rows for shard in manifest.shards() if shard.span == number]
        assert sum(rows) == span.num_rows == 100


def test_small_files_share_a_span(tmp_path):
    folder = tmp_path / "trips"
    for index in range(5):
        write_trips(folder, f"{index}.csv", first=1000 + index * 30, count=30)
    manifest = ingest_trips(folder, tmp_path / "cache").manifest
    assert [len(span.files) for span in manifest.spans] == [2, 2, 1]


def test_other_settings_read_everything(grown, read):
    folder, cache, _ = grown
    ingest_trips(folder, cache, splits={"validation_share": 0.3, "test_share": 0.2})
    assert read == ["a.csv", "b.csv", "c.csv"]


def test_splits_by_time_read_everything_since_their_borders_move(grown, read):
    folder, cache, _ = grown
    by_time = {"by": "time", "key": "id", "validation_share": 0.2, "test_share": 0.2}
    dataset = ingest_trips(folder, cache, splits=by_time)
    assert len(dataset.manifest.spans) == 1 and sorted(set(read)) == ["a.csv", "b.csv", "c.csv"]


def test_rejects_of_spans_that_were_kept_are_still_told(tmp_path):
    folder = tmp_path / "trips"
    write_trips(folder, "a.csv", first=0)
    with (folder / "a.csv").open("a") as file:
        file.write("100,nothing,Blue,0\n")
    allowed = {"rejects": {"max_share": 0.1}}
    ingest_trips(folder, tmp_path / "cache", **allowed)
    write_trips(folder, "b.csv", first=200)
    dataset = ingest_trips(folder, tmp_path / "cache", **allowed)
    assert dataset.manifest.num_rejects == 1
    assert "a.csv:102" in (dataset.path / "rejects.jsonl").read_text()


def test_spans_that_were_done_stay_when_a_later_one_fails(grown, tmp_path, read):
    folder, _, _ = grown
    os.truncate(folder / "c.csv", 10)
    with pytest.raises(DataError, match=r'Expected a column "company" in .*c\.csv'):
        ingest_trips(folder, tmp_path / "new")
    assert read == ["a.csv", "b.csv", "c.csv"]
    write_trips(folder, "c.csv", first=200)
    read.clear()
    assert len(split_of_rows(ingest_trips(folder, tmp_path / "new"))) == 300
    assert read == ["c.csv"]


def test_the_user_is_told_how_many_files_are_read(grown, monkeypatch):
    folder, cache, _ = grown
    told = []
    monkeypatch.setattr(progress, "_listeners", [told.append])
    ingest_trips(folder, cache)
    texts = [event["text"] for event in told if event["event"] == "message"]
    assert texts == ["1 of 3 files are read, the others were read before"]


def test_a_window_of_spans_that_moves_on_reads_the_new_one_alone(tmp_path, read):
    folder = tmp_path / "trips"
    for number in range(1, 4):
        write_trips(folder, f"span-{number}.csv", first=1000 * number, count=30)
    source = {"kind": "csv", "path": f"{folder}/span-{{SPAN}}.csv", "spans": {"newest": 2}}
    before = ingest_trips(folder, tmp_path / "cache", source=source)
    write_trips(folder, "span-4.csv", first=4000, count=30)
    after = ingest_trips(folder, tmp_path / "cache", source=source)
    assert read == ["span-2.csv", "span-3.csv", "span-4.csv"]
    assert [span.files for span in before.manifest.spans] == [
        ("train/span-2.csv",),
        ("train/span-3.csv",),
    ]
    assert set(split_of_rows(after)) == {*range(3000, 3030), *range(4000, 4030)}
