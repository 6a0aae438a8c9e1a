"""Exported models of numbers answer in the target's unit, through every signature.

Axes: B batch, T steps of the past, C channels, H steps ahead.
"""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.ingest.config import DataConfig
from components.transform import fitted, served
from models import config, inputs, registry
from models.blocks import heads
from serving.export import export, saved_model_file

SOURCE = {"kind": "parquet", "path": "/data/readings.parquet"}
BY_TIME = {"by": "time", "key": "t"}


def _example(**values):
    features = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=numbers))
        for name, numbers in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _randomised(model):
    generator = np.random.default_rng(0)
    model.set_weights([generator.normal(0, 0.3, w.shape) for w in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    data = DataConfig.from_dict(
        {
            "source": SOURCE,
            "splits": BY_TIME,
            "series": {
                "time": "t",
                "value": "y",
                "covariates": ["heat"],
                "history_steps": 6,
                "horizon_steps": 3,
            },
        }
    )
    model = registry.build_model(
        config.parse_model_config({"architecture": "dlinear"}),
        inputs=inputs.SeriesInput(history_steps=6, num_channels=2),
        head=heads.Numbers(num_numbers=3, mean=5000.0, deviation=100.0),
    )
    history_BTC = np.random.default_rng(1).normal(5000, 100, (4, 6, 2)).astype("float32")
    examples = [_example(history=history_TC.ravel()) for history_TC in history_BTC]
    folder = export.export_model(
        _randomised(model),
        tmp_path_factory.mktemp("series") / "1",
        warmup_examples=examples,
        served=served.served_input(data, None),
    )
    return folder, model, history_BTC, examples


def test_series_are_forecast_from_tensors_and_from_examples(series):
    folder, model, history_BTC, examples = series
    signatures = tf.saved_model.load(str(folder)).signatures
    expected_BH = model(history_BTC)["predictions"]
    default = signatures["serving_default"](history=tf.constant(history_BTC))
    of_examples = signatures["serve_examples"](examples=tf.constant(examples))
    assert list(default) == list(of_examples) == ["predictions"]
    np.testing.assert_allclose(default["predictions"], expected_BH, rtol=1e-5)
    np.testing.assert_array_equal(of_examples["predictions"], default["predictions"])


def test_several_numbers_have_no_regress_signature(series):
    signatures = tf.saved_model.load(str(series[0])).signatures
    assert sorted(signatures) == ["serve_examples", "serving_default"]


def test_manifest_of_a_forecaster_names_its_input_and_no_classes(series):
    document = json.loads((series[0] / "kerasline.json").read_text())
    assert document["inputs"] == {"history": "float32"}
    assert "class_names" not in document


def test_one_number_of_a_table_is_served_by_the_regress_method(tmp_path):
    data = DataConfig.from_dict(
        {
            "source": SOURCE,
            "table": {"columns": {"miles": {"kind": "number"}}},
            "target": {"source_name": "fare"},
        }
    )
    learned = fitted.FittedTable.from_dict(
        {
            "kind": "table",
            "numbers": {"miles": {"mean": 3.0, "deviation": 2.0}},
            "categories": {},
        }
    )
    serve = served.served_input(data, learned)
    model = registry.build_model(
        config.parse_model_config({"architecture": "mlp", "hidden_units": [4]}),
        inputs=inputs.TableInput(numbers=("miles",), categories={}),
        head=heads.Numbers(num_numbers=1, mean=12.0, deviation=5.0),
    )
    examples = [_example(miles=[miles]) for miles in (0.5, 8.0)]
    folder = export.export_model(
        _randomised(model), tmp_path / "1", warmup_examples=examples, served=serve
    )
    signatures = tf.saved_model.load(str(folder)).signatures
    regressed = signatures["regress"](inputs=tf.constant(examples))
    served_B1 = signatures["serving_default"](miles=tf.constant([0.5, 8.0]))["predictions"]
    standardised_B1 = np.array([[-1.25], [2.5]], "float32")
    values = {"numbers": standardised_B1, "is_missing": np.zeros((2, 1), "float32")}
    np.testing.assert_allclose(served_B1, model(values)["predictions"], rtol=1e-5)
    np.testing.assert_array_equal(regressed["outputs"], served_B1)
    method = saved_model_file.read_signatures(folder)["regress"].method_name
    assert method == "tensorflow/serving/regress"


def test_class_names_of_a_model_of_numbers_are_refused(tmp_path):
    x_BF = keras.Input((2,), name="x")
    head = heads.Numbers(num_numbers=1)
    model = heads.finish("linear", x_BF, x_BF, head=head, dropout_rate=0.0)
    serve = served.served_input(
        DataConfig.from_dict(
            {
                "source": SOURCE,
                "splits": BY_TIME,
                "series": {"time": "t", "value": "y", "history_steps": 2, "horizon_steps": 1},
            }
        ),
        None,
    )
    with pytest.raises(ValueError, match=r"no classes. Received: class_names=\['a', 'b'\]"):
        export.export_model(
            model, tmp_path / "1", class_names=["a", "b"], warmup_examples=[b""], served=serve
        )
