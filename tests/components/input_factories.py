"""Recipes' data and shards of texts and of tables, written with TensorFlow's own messages."""

import math

import tensorflow as tf

from components.ingest.config import DataConfig

_SOURCE = {"kind": "tfds", "name": "not_read"}
TEXT = DataConfig.from_dict(
    {
        "source": _SOURCE,
        "text": {"max_tokens": 5, "vocabulary_size": 4},
        "label": {"class_names": ["bad", "good"]},
    }
)
TABLE = DataConfig.from_dict(
    {
        "source": _SOURCE,
        "table": {
            "columns": {
                "miles (km)": {"kind": "number"},
                "day": {"kind": "category", "max_values": 2},
                "fare": {"kind": "number"},
            }
        },
        "label": {"class_names": ["no", "yes"]},
    }
)
REVIEWS = [("Good, good food!", 1), ("bad food", 0), ("good", 1), ("Bad taste", 0)]
# Miles, day, fare and label; NaN and "" are missing.
TRIPS = [
    (1.0, "mon", 5.0, 1),
    (3.0, "tue", math.nan, 0),
    (math.nan, "mon", 7.0, 1),
    (5.0, "", 9.0, 0),
    (7.0, "wed", 11.0, 0),
]


def text_example(text, label):
    """Serializes a review."""
    return _example({"text": _bytes([text.encode()]), "label": _integers([label])})


def table_example(miles, day, fare, label, *, is_empty_list=True, answer="label"):
    """Serializes a trip; a missing value is an empty list, or a feature that is not there."""
    numbers = {"miles (km)": miles, "fare": fare}
    features = {
        name: _floats([] if math.isnan(value) else [value]) for name, value in numbers.items()
    }
    features["day"] = _bytes([day.encode()] if day else [])
    missing = [name for name, value in {**numbers, "day": day}.items() if value in ("",)]
    missing += [name for name, value in numbers.items() if math.isnan(value)]
    if not is_empty_list:
        features = {name: value for name, value in features.items() if name not in missing}
    value = _integers([label]) if answer == "label" else _floats([label])
    return _example({**features, answer: value})


def write_shard(path, examples):
    """Writes a shard and returns its path as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for serialized in examples:
            writer.write(serialized)
    return str(path)


def write_texts(folder):
    """Writes REVIEWS into one shard."""
    return [write_shard(folder / "text-0", [text_example(*row) for row in REVIEWS])]


def write_table(folder):
    """Writes TRIPS into two shards, with missing values of both kinds."""
    return [
        write_shard(folder / "table-0", [table_example(*row) for row in TRIPS[:3]]),
        write_shard(
            folder / "table-1", [table_example(*row, is_empty_list=False) for row in TRIPS[3:]]
        ),
    ]


def _example(features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _bytes(values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def _integers(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
