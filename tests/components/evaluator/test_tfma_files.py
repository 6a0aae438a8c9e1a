"""TFMA's own functions read the evaluation of a model of numbers."""

import dataclasses

import tensorflow_model_analysis as tfma

from components.evaluator import outcome, tfma_files

_FOUND = outcome.NumbersOutcome(
    blessed=True,
    num_examples=40,
    metrics={"mae": 2.0, "rmse": 3.0, "skill": 0.5},
    intervals={},
    simple_name="the value 2 steps before",
    simple_metrics={"mae": 4.0, "rmse": 5.0},
    baseline_metrics=None,
    step_mae_H=(1.5, 2.5),
    simple_step_mae_H=(4.0, 4.0),
    samples=(),
    pairs=(),
    failures=(),
)
_DIRS = {"candidate": "/models/2", "baseline": "/models/1"}


def test_metrics_are_read_overall_and_by_steps_ahead(tmp_path):
    tfma_files.write_numbers(_FOUND, _DIRS, tmp_path)
    by_slice = dict(tfma.load_eval_result(str(tmp_path)).slicing_metrics)
    overall = {name: value["doubleValue"] for name, value in by_slice[()][""][""].items()}
    assert overall == {"mae": 2.0, "rmse": 3.0, "skill": 0.5, "example_count": 40.0}
    assert by_slice[(("steps_ahead", 2),)][""][""]["mae"]["doubleValue"] == 2.5
    assert tfma.load_validation_result(str(tmp_path)).validation_ok


def test_the_last_blessed_model_is_a_model_of_its_own(tmp_path):
    found = dataclasses.replace(_FOUND, baseline_metrics={"mae": 2.5, "rmse": 4.0, "skill": 0.4})
    tfma_files.write_numbers(found, _DIRS, tmp_path)
    for name, mae in {"candidate": 2.0, "baseline": 2.5}.items():
        result = tfma.load_eval_result(str(tmp_path), model_name=name)
        assert dict(result.slicing_metrics)[()][""][""]["mae"]["doubleValue"] == mae


def test_a_missed_threshold_is_a_failed_validation(tmp_path):
    failure = outcome.Failure(metric="skill", label=None, kind="value", value=0.5, bound=0.6)
    found = dataclasses.replace(_FOUND, blessed=False, failures=(failure,))
    tfma_files.write_numbers(found, _DIRS, tmp_path)
    verdict = tfma.load_validation_result(str(tmp_path))
    assert not verdict.validation_ok
    (told,) = verdict.metric_validations_per_slice[0].failures
    assert (told.metric_key.name, told.metric_value.double_value.value) == ("skill", 0.5)
