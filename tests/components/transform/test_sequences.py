"""Lists of numbers, from ingested rows to a served model.

Axes: B batch, T steps, C channels.
"""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.ingest import example, tfrecord
from components.ingest.config import DataConfig
from components.input_pipeline import decoding
from components.reference import learn
from components.transform import apply, fit, served
from models import config, registry
from models.blocks import heads
from serving.export import export

DATA = DataConfig.from_dict(
    {
        "source": {"kind": "jsonl", "path": "/rows.jsonl"},
        "table": {
            "columns": {
                "beat": {"kind": "sequence", "length": 3, "channels": 2, "any_length": True},
                "age": {"kind": "number"},
            }
        },
        "label": {"class_names": ["calm", "wild"]},
        "splits": {"test_share": 0.1},
    }
)
ROWS = [
    {"beat": [1.0, 10.0, 3.0, 30.0, 5.0, 50.0], "age": 1.0, "label": 0},
    {"beat": [7.0, math.nan], "age": 2.0, "label": 1},
    {"beat": [], "age": 3.0, "label": 1},
]


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "shard"
    writer = tfrecord.RecordWriter(path)
    for row in ROWS:
        writer.write(example.encode_example(row))
    writer.close()
    return str(path)


@pytest.fixture(scope="module")
def fitted(shard):
    return fit.fit([shard], DATA)


def test_each_channel_is_standardised_over_all_steps_that_are_there(fitted):
    found = fitted.sequences["beat"].channels
    assert [each.mean for each in found] == [4.0, 30.0]
    np.testing.assert_allclose(found[0].deviation, np.std([1, 3, 5, 7]))
    np.testing.assert_allclose(found[1].deviation, np.std([10, 30, 50]))


def test_missing_steps_are_zero_and_marked(fitted):
    decode = decoding.Decoder(DATA, fitted)
    inputs, labels = decode(tf.constant([example.encode_example(row) for row in ROWS]))
    deviation = np.std([1, 3, 5, 7])
    values_BTC, missing_BTC = inputs["sequence1"].numpy(), inputs["sequence1_is_missing"].numpy()
    np.testing.assert_allclose(values_BTC[0, :, 0], np.array([-3, -1, 1]) / deviation, rtol=1e-6)
    np.testing.assert_allclose(values_BTC[1, 0, 0], 3 / deviation, rtol=1e-6)
    assert (values_BTC[missing_BTC == 1] == 0).all()
    assert missing_BTC[1].tolist() == [[0, 1], [1, 1], [1, 1]]
    assert missing_BTC[2].all() and not missing_BTC[0].any()
    assert labels.numpy().tolist() == [0, 1, 1]


def test_trees_read_each_number_of_a_list_as_a_column(shard, fitted):
    found = learn.learn(DATA, fitted, train_shards=[shard] * 20, test_shards=[shard])
    assert found.answers_N.tolist() == [0, 1, 1]


@pytest.mark.parametrize("architecture", ["mlp", "tcn"])
def test_the_served_model_takes_a_named_dense_tensor(tmp_path, fitted, architecture):
    model = registry.build_model(
        config.parse_model_config({"architecture": architecture}),
        inputs=apply.make_apply(DATA, fitted).inputs,
        head=heads.Classes(num_classes=2),
    )
    serialized = [example.encode_example(row) for row in ROWS]
    export.export_model(
        model,
        tmp_path / "1",
        class_names=DATA.class_names,
        warmup_examples=serialized,
        served=served.served_input(DATA, fitted),
    )
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    spec = signatures["serving_default"].structured_input_signature[1]["beat"]
    assert (spec.shape.as_list(), spec.dtype) == ([None, 3, 2], tf.float32)
    beats = [[[1, 10], [3, 30], [5, 50]], [[7, math.nan]] + [[math.nan] * 2] * 2]
    given = signatures["serving_default"](
        beat=tf.constant(beats, tf.float32), age=tf.constant([1.0, 2.0])
    )["probabilities"]
    stored = signatures["serve_examples"](examples=tf.constant(serialized[:2]))["probabilities"]
    np.testing.assert_array_equal(given, stored)
    inputs, _ = decoding.Decoder(DATA, fitted)(tf.constant(serialized[:2]))
    expected = keras.ops.softmax(model(inputs, training=False)["logits"])
    np.testing.assert_allclose(given, expected, atol=1e-6)
