import gzip
import io
import re

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from components.ingest import example, ingest, resolve, tfrecord
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from components.ingest.sources.base import Reject

ROWS = [
    {"size": 1.5, "colour": b"red", "x": [7, -8, 9], "kind": 1},
    {"size": None, "colour": b"", "x": [4], "kind": 0},
    {"size": -2.25, "colour": "größe".encode(), "x": [], "kind": 1},
]


def feature(value):
    values = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(one, bytes) for one in values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if any(isinstance(one, float) for one in values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(path, rows=ROWS, compression=""):
    """Writes tf.Examples with TensorFlow's own classes."""
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for row in rows:
            features = {name: feature(value) for name, value in row.items()}
            message = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(message.SerializeToString())
    return path


def config(path, columns=None, **changes):
    kinds = columns or {"size": "number", "colour": "category", "x[1]": "number"}
    values = {
        "source": {"kind": "tfrecord", "path": str(path)},
        "table": {"columns": {name: {"kind": kind} for name, kind in kinds.items()}},
        "label": {"source_name": "kind", "class_names": ["short", "long"]},
        "splits": {"test_share": 0.1},
    }
    return DataConfig.from_dict({**values, **changes})


def read(data):
    return [row for block in resolve.open_source(data, None).blocks() for row in block.rows()]


def decoded(row):
    """The row as TensorFlow reads it."""
    kinds = {"size": tf.float32, "x[1]": tf.float32, "colour": tf.string, "label": tf.int64}
    spec = {name: tf.io.RaggedFeature(kind) for name, kind in kinds.items()}
    parsed = tf.io.parse_single_example(row.example, spec)
    return [parsed[name].numpy().tolist() for name in kinds]


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records_that_tensorflow_wrote_become_the_same_rows(tmp_path, compression):
    rows = read(config(write(tmp_path / "a.tfrecord", compression=compression)))
    assert [decoded(row) for row in rows] == [
        [[1.5], [-8.0], [b"red"], [1]],
        [[], [], [], [0]],
        [[-2.25], [], ["größe".encode()], [1]],
    ]
    assert [row.key for row in rows] == ["a.tfrecord:0", "a.tfrecord:1", "a.tfrecord:2"]


def test_records_are_numbered_on_through_the_blocks_of_several_files(tmp_path):
    big = {"size": 1.0, "colour": b"a" * 100_000, "x": [1], "kind": 1}
    for name in ("a", "b"):
        write(tmp_path / f"{name}.tfrecord", [big] * 7)
    rows = read(config(tmp_path / "*.tfrecord"))
    assert [row.key for row in rows] == [f"{name}.tfrecord:{n}" for name in "ab" for n in range(7)]


def test_a_label_is_an_index_unless_the_classes_are_numbers(tmp_path):
    path = write(tmp_path / "a")
    label = {"source_name": "kind", "class_names": ["1", "0"]}
    assert [row.label for row in read(config(path))] == [1, 0, 1]
    assert [row.label for row in read(config(path, label=label))] == [0, 1, 0]


def test_images_texts_and_recordings_lie_in_bytes(tmp_path):
    buffer = io.BytesIO()
    PIL.Image.new("L", (4, 4), 9).save(buffer, "PNG")
    path = write(tmp_path / "a", [{"image": buffer.getvalue(), "text": b"Good tea", "label": 0}])
    image = {"height_px": 4, "width_px": 4, "channels": 1}
    label = {"class_names": ["good", "bad"]}
    for changes in ({"image": image}, {"text": {}}):
        (row,) = read(config(path, table=None, label=label, **changes))
        (name,) = changes
        expected = buffer.getvalue() if name == "image" else b"Good tea"
        assert example.decode_example(row.example)[name] == [expected]


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_a_damaged_record_is_rejected_by_file_and_number(tmp_path):
    path = write(tmp_path / "a")
    flip(path, 30)
    *rows, reject = read(config(path))
    assert reject == Reject("a:0", "the record is damaged: its checksum is wrong")
    assert [row.key for row in rows] == ["a:1", "a:2"]
    with pytest.raises(tf.errors.DataLossError):
        list(tf.data.TFRecordDataset(str(path)))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x0a\xff no message", "the record is not a tf.Example"),
        ({"x": [1], "size": [1.0, 2.0]}, r"its size has 2 values \(1.0, 2.0...\) instead of one"),
        ({"size": b"wide", "kind": 1}, "its size is 'wide', which is no number"),
        ({"size": 1.0, "kind": 7}, "its label 7 is outside data.label.class_names"),
        ({"size": float("inf"), "kind": 1}, "its size is inf, which is infinite"),
        ({"size": 2**62, "colour": b"\xff", "kind": 1}, "its colour is .*, which is not UTF-8"),
        ({"size": 1.0}, "it has no kind"),
    ],
)
def test_a_record_that_cannot_be_used_is_told_with_its_reason(tmp_path, record, reason):
    path = write(tmp_path / "a")
    if isinstance(record, bytes):
        with path.open("ab") as file:
            file.write(tfrecord.frame_record(record))
    else:
        write(path, [*ROWS, record])
    (reject,) = [row for row in read(config(path)) if isinstance(row, Reject)]
    assert reject.key == "a:3"
    assert re.match(reason, reject.reason), reject


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-3]), "record 2; the file is truncated"),
        (lambda path: path.write_bytes(b""), "Received: an empty file"),
        (lambda path: path.write_text("a,b\n" * 9), "to be a TFRecord file, plain or compressed"),
        (lambda path: path.write_text("a,b"), "to be a TFRecord file, plain or compressed"),
        (lambda path: write(path, compression="ZLIB"), "if it is compressed with ZLIB"),
        (
            lambda path: path.write_bytes(gzip.compress(path.read_bytes())[:-9]),
            "to its end, but: Compressed file ended before the end-of-stream marker",
        ),
        (
            lambda path: flip(path, len(tfrecord.frame_record(next(tfrecord.read_records(path))))),
            "record 1; its length checksum is wrong",
        ),
        (lambda path: write(path, [{"sise": 1.0}]), r'column "size" in .* Did you mean "sise"\?'),
    ],
)
def test_a_file_that_cannot_be_read_stops_the_ingest(tmp_path, damage, message):
    path = write(tmp_path / "a")
    damage(path)
    with pytest.raises(DataError, match=message):
        read(config(path))


def test_ingested_records_are_those_of_the_file_in_three_splits(tmp_path):
    sizes = np.random.default_rng(0).normal(size=400).astype(np.float32)
    rows = [{"size": float(size), "kind": n % 2} for n, size in enumerate(sizes)]
    data = config(write(tmp_path / "a.gz", rows, "GZIP"), {"size": "number"})
    dataset = ingest.ingest(data, seed=1, cache_dir=tmp_path / "cache")
    paths = [str(dataset.path / shard.path) for shard in dataset.manifest.shards()]
    spec = {"size": tf.io.FixedLenFeature([], tf.float32)}
    found = [
        tf.io.parse_single_example(record, spec)["size"].numpy()
        for record in tf.data.TFRecordDataset(paths)
    ]
    np.testing.assert_array_equal(sorted(found), sorted(sizes))
    assert dataset.manifest.origin == "tfrecord a.gz"
