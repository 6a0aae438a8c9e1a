import json
import pathlib
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.ingest import ingest
from components.ingest.config import DataConfig
from components.trainer import logs, run_fn
from pipeline import recipe_files


@pytest.fixture(scope="module")
def digits():
    return recipe_files.load("digits", ["training.num_epochs=8"]).to_dict()


@pytest.fixture(scope="module")
def fn_args(digits, tmp_path_factory):
    root = tmp_path_factory.mktemp("trainer")
    dataset = ingest.ingest(
        DataConfig.from_dict(digits["data"]), seed=digits["seed"], cache_dir=root / "cache"
    )
    return types.SimpleNamespace(
        train_files=[str(dataset.path / "Split-train" / "*")],
        eval_files=[str(dataset.path / "Split-validation" / "*")],
        serving_model_dir=str(root / "model" / "Format-Serving"),
        model_run_dir=str(root / "trainer" / "model_run" / "5"),
        transform_graph_path=None,
        custom_config={"recipe": digits, "strategy": "one_device", "fingerprint": "f" * 64},
    )


@pytest.fixture(scope="module")
def outputs(fn_args):
    root = pathlib.Path(fn_args.model_run_dir).parent.parent
    (root / "unfinished" / "of-other-settings" / "checkpoints").mkdir(parents=True)
    run_fn.run_fn(fn_args)
    return fn_args


def test_digits_are_learned(outputs):
    history = json.loads((pathlib.Path(outputs.model_run_dir) / "history.json").read_text())
    assert len(history["epochs"]) == 8
    assert history["epochs"][-1]["val_accuracy"] > 0.9
    assert history["policy"] == "float32"


def test_log_and_checkpoints_lie_with_the_run_once_it_is_finished(outputs):
    run_dir = pathlib.Path(outputs.model_run_dir)
    assert {"log.jsonl", "checkpoints", "tensorboard"} <= {path.name for path in run_dir.iterdir()}


def test_what_attempts_with_other_settings_left_is_removed_once_a_run_is_finished(outputs):
    root = pathlib.Path(outputs.model_run_dir).parent.parent
    assert not (root / "unfinished").exists()


def test_attempt_that_was_stopped_is_taken_up_by_the_next(fn_args, tmp_path, monkeypatch):
    class StoppedError(Exception):
        pass

    def stop_after_three_epochs(report, record):
        if record.epoch == 3:
            raise StoppedError

    attempt = types.SimpleNamespace(
        **{
            **vars(fn_args),
            "serving_model_dir": str(tmp_path / "model" / "Format-Serving"),
            "model_run_dir": str(tmp_path / "trainer" / "model_run" / "8"),
        },
    )
    with monkeypatch.context() as patch:
        patch.setattr(logs.ProgressReport, "on_epoch", stop_after_three_epochs)
        with pytest.raises(StoppedError):
            run_fn.run_fn(attempt)
    said = []
    monkeypatch.setattr(logs, "message", said.append)
    run_fn.run_fn(attempt)
    assert len(said) == 1
    assert said[0].startswith("Training goes on from the checkpoint of step 36.")


def test_saved_model_and_keras_model_give_the_same_probabilities(outputs):
    exported = tf.saved_model.load(outputs.serving_model_dir).signatures["serving_default"]
    keras_path = pathlib.Path(outputs.serving_model_dir).parent / run_fn.KERAS_MODEL_PATH
    model = keras.models.load_model(keras_path)
    images_BHWC = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 1)).astype("float32")
    expected_BK = keras.ops.softmax(model(images_BHWC)["logits"])
    actual_BK = exported(image=tf.constant(images_BHWC))["probabilities"]
    np.testing.assert_allclose(actual_BK, expected_BK, atol=1e-5)


def test_same_seed_trains_the_same_weights_bit_for_bit(outputs, tmp_path):
    again = types.SimpleNamespace(
        **{
            **vars(outputs),
            "serving_model_dir": str(tmp_path / "model" / "Format-Serving"),
            "model_run_dir": str(tmp_path / "trainer" / "model_run" / "6"),
        },
    )
    run_fn.run_fn(again)
    paths = [
        pathlib.Path(arguments.serving_model_dir).parent / run_fn.KERAS_MODEL_PATH
        for arguments in (outputs, again)
    ]
    first, second = (keras.models.load_model(path).get_weights() for path in paths)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)


def test_batch_larger_than_the_data_is_refused(fn_args, digits):
    training = {**digits["training"], "global_batch_size": 5000}
    too_large = types.SimpleNamespace(
        **{
            **vars(fn_args),
            "custom_config": {"recipe": {**digits, "training": training}, "strategy": "auto"},
        },
    )
    with pytest.raises(ValueError, match="global_batch_size=5000"):
        run_fn.run_fn(too_large)
    assert not pathlib.Path(fn_args.model_run_dir, "checkpoint").exists()
