"""Errors, simple forecasts and verdicts, computed by hand from a few windows.

Axes: N examples, T steps of the past, H steps ahead.
"""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from tfx.types import standard_artifacts

from components.evaluator import component, config, executor, outcome
from components.evaluator.numbers import evaluate
from components.ingest.features.config import SeriesFeature
from tests.components import tfx_factories

SERIES = SeriesFeature(time="t", value="y", history_steps=4, horizon_steps=3, period_steps=2)
LOOSE = config.NumberThresholds(max_mae=1e9)


def _example(**values):
    features = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=numbers))
        for name, numbers in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _write(path, rows):
    with tf.io.TFRecordWriter(str(path)) as file:
        for row in rows:
            file.write(_example(**row))
    return [str(path)]


class _LastPlus(tf.Module):
    """Forecasts the last value plus `step`, as often as `horizon` says."""

    def __init__(self, step, *, horizon=3, history=4):
        super().__init__()
        self.step = tf.Variable(float(step))
        self._horizon, self._history = horizon, history

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        features = {"history": tf.io.FixedLenFeature((self._history,), tf.float32)}
        history_BT = tf.io.parse_example(examples, features)["history"]
        return {"predictions": tf.repeat(history_BT[:, -1:] + self.step, self._horizon, axis=1)}


def _save(module, folder):
    tf.saved_model.save(module, str(folder), signatures={"serve_examples": module.serve})
    return str(folder)


TRAIN = [
    # Errors of the one-period forecast: |4-2|, |6-4|, |4-4|, the last one of a target.
    {"history": [0, 0, 2, 4], "target": [4, 6, 4]},
    # |8-3|, |9-5|, |8-8|
    {"history": [1, 1, 3, 5], "target": [8, 9, 8]},
]
TEST = [
    {"history": [0, 0, 1, 2], "target": [3, 2, 4]},
    {"history": [5, 5, 5, 5], "target": [5, 6, 7]},
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return {
        "train_files": _write(folder / "train", TRAIN),
        "test_files": _write(folder / "test", TEST),
    }


@pytest.fixture(scope="module")
def found(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    model_dirs = {
        "candidate": _save(_LastPlus(1), folder / "candidate"),
        "baseline": _save(_LastPlus(0), folder / "baseline"),
    }
    return evaluate.evaluate(LOOSE, SERIES, model_dirs=model_dirs, **files)


def test_errors_of_the_model_are_those_worked_out_by_hand(found):
    # It says 3, 3, 3 and 6, 6, 6: errors 0, 1, -1 and 1, 0, -1.
    assert found.num_examples == 2
    assert found.metrics["mae"] == pytest.approx(4 / 6)
    assert found.metrics["rmse"] == pytest.approx(np.sqrt(4 / 6))
    assert found.step_mae_H == pytest.approx((0.5, 0.5, 1.0))


def test_simple_forecast_is_the_last_period_repeated(found):
    # It says 1, 2, 1 and 5, 5, 5: errors 2, 0, 3 and 0, 1, 2.
    assert found.simple_name == "the value 2 steps before"
    assert found.simple_metrics["mae"] == pytest.approx(8 / 6)
    assert found.simple_step_mae_H == pytest.approx((1.0, 0.5, 2.5))
    assert found.metrics["skill"] == pytest.approx(1 - 4 / 8)


def test_mase_divides_by_the_one_period_error_on_the_training_split(found):
    assert found.metrics["mase"] == pytest.approx((4 / 6) / (13 / 6))


def test_last_blessed_model_is_measured_on_the_same_examples(found):
    # It says 2, 2, 2 and 5, 5, 5: errors 1, 0, 2 and 0, 1, 2.
    assert found.baseline_metrics["mae"] == pytest.approx(1.0)
    assert found.blessed


def test_samples_go_from_small_errors_to_large_ones(found):
    assert [sample.quantile for sample in found.samples] == sorted(
        sample.quantile for sample in found.samples
    )
    last = found.samples[-1]
    assert last.prediction_H in ((3, 3, 3), (6, 6, 6))
    assert len(last.history_T) == 4
    assert len(last.simple_H) == len(last.target_H) == 3


@pytest.mark.parametrize(
    ("thresholds", "missed"),
    [
        ({"max_mae": 0.6}, [("mae", "value")]),
        ({"min_skill": 0.51}, [("skill", "value")]),
        ({"max_mae": 0.7, "min_skill": 0.49}, []),
    ],
)
def test_missed_bounds_are_named(files, tmp_path, thresholds, missed):
    model_dirs = {"candidate": _save(_LastPlus(1), tmp_path / "candidate")}
    found = evaluate.evaluate(
        config.NumberThresholds(**thresholds), SERIES, model_dirs=model_dirs, **files
    )
    assert [(failure.metric, failure.kind) for failure in found.failures] == missed
    assert found.blessed == (not missed)


def test_error_above_the_last_blessed_models_is_named(files, tmp_path):
    model_dirs = {
        "candidate": _save(_LastPlus(0), tmp_path / "candidate"),
        "baseline": _save(_LastPlus(1), tmp_path / "baseline"),
    }
    (failure,) = evaluate.evaluate(LOOSE, SERIES, model_dirs=model_dirs, **files).failures
    assert (failure.metric, failure.kind) == ("mae", "change")
    assert failure.value == pytest.approx(0.5)


@pytest.mark.parametrize("other", [{"horizon": 2}, {"history": 3}])
def test_last_blessed_model_of_another_question_is_left_out(files, tmp_path, other):
    model_dirs = {
        "candidate": _save(_LastPlus(1), tmp_path / "candidate"),
        "baseline": _save(_LastPlus(1, **other), tmp_path / "baseline"),
    }
    found = evaluate.evaluate(LOOSE, SERIES, model_dirs=model_dirs, **files)
    assert found.baseline_metrics is None
    assert found.blessed


def test_candidate_of_another_horizon_is_refused(files, tmp_path):
    model_dirs = {"candidate": _save(_LastPlus(1, horizon=2), tmp_path / "candidate")}
    with pytest.raises(ValueError, match=r"predict 3 number.* shape \(2, 2\) for .* \(2, 3\)"):
        evaluate.evaluate(LOOSE, SERIES, model_dirs=model_dirs, **files)


def test_test_split_that_the_simple_forecast_gets_right_is_refused(files, tmp_path):
    constant = _write(tmp_path / "test", [{"history": [1, 1, 1, 1], "target": [1, 1, 1]}] * 3)
    model_dirs = {"candidate": _save(_LastPlus(1), tmp_path / "candidate")}
    with pytest.raises(ValueError, match="the value 2 steps before is always right.*Received: 3 s"):
        evaluate.evaluate(
            LOOSE, SERIES, model_dirs=model_dirs, **(files | {"test_files": constant})
        )


class _Double(tf.Module):
    """Predicts twice the column `x`."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        features = {"x": tf.io.FixedLenFeature((1,), tf.float32)}
        return {"predictions": 2.0 * tf.io.parse_example(examples, features)["x"]}


def test_target_of_a_table_is_measured_beside_the_median_of_the_training_split(tmp_path):
    # Their mean, 20, would let any model seem good.
    rows = [{"x": [1], "target": [target]} for target in (2, 4, 54)]
    train_files = _write(tmp_path / "train", rows)
    test_files = _write(tmp_path / "test", [{"x": [1], "target": [3]}, {"x": [5], "target": [10]}])
    found = evaluate.evaluate(
        LOOSE,
        None,
        model_dirs={"candidate": _save(_Double(), tmp_path / "model")},
        train_files=train_files,
        test_files=test_files,
    )
    assert found.simple_name == "the median of the training split"
    # The model says 2 and 10, the median is 4.
    assert found.metrics == pytest.approx({"mae": 0.5, "rmse": np.sqrt(0.5), "skill": 1 - 1 / 7})
    assert found.pairs == ((3.0, 2.0), (10.0, 10.0))
    assert found.samples == ()


@pytest.mark.parametrize("step", [1, 100])
def test_component_blesses_what_is_good_enough(tmp_path, step):
    tfx_factories.write_split(
        tmp_path / "examples", "train", [_example(**row) for row in TRAIN], num_shards=1
    )
    tfx_factories.write_split(
        tmp_path / "examples", "test", [_example(**row) for row in TEST], num_shards=1
    )
    _save(_LastPlus(step), tmp_path / "model" / "Format-Serving")
    evaluation = tfx_factories.artifact(standard_artifacts.ModelEvaluation, tmp_path / "evaluation")
    blessing = tfx_factories.artifact(standard_artifacts.ModelBlessing, tmp_path / "blessing")
    thresholds = config.NumberThresholds(min_skill=0.4)
    executor.Executor(executor.Executor.Context(beam_pipeline_args=[])).Do(
        {
            "examples": [
                tfx_factories.artifact(
                    standard_artifacts.Examples,
                    tmp_path / "examples",
                    split_names='["train", "test"]',
                )
            ],
            "model": [tfx_factories.artifact(standard_artifacts.Model, tmp_path / "model")],
        },
        {"evaluation": [evaluation], "blessing": [blessing]},
        {
            "numbers": component.numbers_settings(thresholds, SERIES),
            "example_splits": json.dumps(["test"]),
            "reference_rule": "report",
        },
    )
    found = outcome.read(evaluation.uri)
    assert found.blessed == (step == 1)
    assert blessing.get_int_custom_property("blessed") == int(step == 1)
    outcome.write(found, tmp_path)
    assert dataclasses.asdict(outcome.read(tmp_path)) == dataclasses.asdict(found)
