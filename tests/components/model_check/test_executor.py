"""The exported model is served in a process without Keras and must answer as Keras does."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
from tfx.types import standard_artifacts

from components import gates
from components.model_check import executor, server
from serving.export import export
from tests.components import tfx_factories


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    """A Model artifact as the trainer leaves it: a SavedModel and the Keras model."""
    folder = tmp_path_factory.mktemp("model")
    image = keras.Input((2, 2, 1), name="image", dtype="uint8")
    flat = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(image))
    model = keras.Model(image, {"logits": keras.layers.Dense(2, name="head")(flat)})
    model.get_layer("head").set_weights([np.float32([[1, -1]] * 4), np.float32([0.5, -2])])
    export.export_model(
        model,
        folder / "Format-Serving",
        class_names=tfx_factories.LABEL.class_names,
        warmup_examples=[tfx_factories.example(0)],
    )
    (folder / "Format-Keras").mkdir()
    model.save(folder / "Format-Keras" / "model.keras")
    return folder


def _check(folder, model_dir):
    examples_dir = folder / "examples"
    tfx_factories.write_split(
        examples_dir, "test", [tfx_factories.example(0, fill=fill) for fill in range(0, 256, 32)]
    )
    examples = tfx_factories.artifact(
        standard_artifacts.Examples, examples_dir, split_names='["test"]'
    )
    model = tfx_factories.artifact(standard_artifacts.Model, model_dir)
    blessing = tfx_factories.artifact(standard_artifacts.InfraBlessing, folder / "blessing")
    properties = {
        "data": json.dumps(tfx_factories.DATA.to_dict()),
        "split": "test",
    }
    inputs = {"examples": [examples], "model": [model]}
    executor.Executor().Do(inputs, {"blessing": [blessing]}, properties)
    return blessing


def test_a_faithful_export_is_blessed(tmp_path, model_dir):
    assert _check(tmp_path, model_dir).get_int_custom_property("blessed") == 1


def test_an_export_of_other_weights_is_refused(tmp_path, model_dir):
    copy = tmp_path / "model"
    shutil.copytree(model_dir, copy)
    path = pathlib.Path(copy, executor.KERAS_MODEL_PATH)
    model = keras.saving.load_model(path)
    model.get_layer("head").set_weights([np.float32([[1.001, -1]] * 4), np.float32([0.5, -2])])
    model.save(path)
    message = r"Signature 'serving_default' answers otherwise than Keras did on \d of 8 examples"
    with pytest.raises(gates.GateRefusedError, match=message):
        _check(tmp_path, copy)


def test_a_model_that_cannot_be_loaded_is_an_error(tmp_path):
    server.start_ahead()
    inputs = {"serving_default": [], "serve_bytes": [], "serve_examples": []}
    with pytest.raises(RuntimeError, match=r"could not be served in a fresh process.*exit status"):
        server.ask({"model_dir": str(tmp_path), "inputs": inputs})


def test_a_process_that_is_not_needed_is_ended():
    server.start_ahead()
    (process,) = server._waiting
    server.discard()
    assert process.returncode is not None
