"""Artifacts for tests of TFX executors."""

import numpy as np
import tensorflow as tf

from components.ingest import config
from components.ingest.features import config as features

LABEL = features.LabelFeature(class_names=("cat", "dog"))
DATA = config.DataConfig.from_dict(
    {
        "source": {"kind": "tfds", "name": "pets"},
        "image": {"height_px": 2, "width_px": 2, "channels": 1},
        "label": LABEL.to_dict(),
    }
)


def artifact(kind, folder, **attributes):
    """Makes an artifact of a standard type whose folder is there."""
    folder.mkdir(parents=True, exist_ok=True)
    made = kind()
    made.uri = str(folder)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def example(label, *, fill=0, name="x"):
    """Serializes one example: an image of `fill` and its label; None leaves the label out."""
    image = tf.io.encode_png(np.full((2, 2, 1), fill, np.uint8)).numpy()
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "key": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name.encode()])),
    }
    if label is not None:
        features["label"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def write_split(folder, split, examples, *, num_shards=2):
    """Writes examples in turn into shards named as TFX names them."""
    (folder / f"Split-{split}").mkdir(parents=True)
    for shard in range(num_shards):
        path = folder / f"Split-{split}" / f"data_tfrecord-{shard:05d}-of-{num_shards:05d}"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for serialized in examples[shard::num_shards]:
                writer.write(serialized)
