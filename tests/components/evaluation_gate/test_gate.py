"""The evaluation gate says which threshold was missed, by how much, and what to do."""

import dataclasses

import pytest

from components import gates
from components.evaluation_gate import gate
from components.evaluator import outcome

_NAMES = ("cat", "dog")
_GOOD = outcome.EvaluationOutcome(
    blessed=True,
    num_examples=100,
    metrics={"accuracy": 0.8, "loss": 0.5},
    baseline_metrics=None,
    class_accuracy=(0.9, 0.7),
    class_num_examples=(50, 50),
    confusion_KK=((45, 5), (15, 35)),
    failures=(),
)


def _refusal(*failures):
    found = dataclasses.replace(_GOOD, blessed=False, failures=failures)
    with pytest.raises(gates.GateRefusedError) as caught:
        gate.check(found, _NAMES)
    return caught.value.sentence


def _failure(**changes):
    values = {"metric": "accuracy", "label": None, "kind": "value", "value": 0.8, "bound": 0.85}
    return outcome.Failure(**{**values, **changes})


def test_a_blessed_model_passes():
    gate.check(_GOOD, _NAMES)


def test_a_missed_overall_threshold_is_described():
    assert _refusal(_failure()) == (
        "The model is not good enough to publish: accuracy over all classes is 0.8000 and must be "
        "at least 0.8500 (short by 0.0500). Train longer or change the model or the data; or, if "
        "the model will do, relax `evaluation.min_accuracy`."
    )


def test_a_missed_class_threshold_names_the_class():
    sentence = _refusal(_failure(label=1, value=0.7, bound=0.75))
    assert "accuracy on class 'dog' is 0.7000 and must be at least 0.7500" in sentence
    assert "relax `evaluation.min_class_accuracy`." in sentence


def test_a_drop_against_the_last_model_is_described():
    sentence = _refusal(_failure(kind="change", value=-0.03, bound=-0.01))
    assert "accuracy fell by 0.0300 against the last published model, and may fall by 0.0100" in (
        sentence
    )
    assert "(short by 0.0200)" in sentence
    assert "relax `evaluation.max_accuracy_drop`." in sentence


def test_each_key_to_relax_is_named_once():
    sentence = _refusal(_failure(), _failure(label=0), _failure(label=1))
    assert "relax `evaluation.min_accuracy` and `evaluation.min_class_accuracy`." in sentence


def test_a_long_list_of_failures_is_cut():
    assert "; and 3 more. Train longer" in _refusal(*[_failure()] * 9)


_NUMBERS = outcome.NumbersOutcome(
    blessed=False,
    num_examples=100,
    metrics={"mae": 120.0, "rmse": 150.0, "skill": 0.25},
    intervals={},
    simple_name="the value 48 steps before",
    simple_metrics={"mae": 160.0, "rmse": 200.0},
    baseline_metrics=None,
    step_mae_H=(120.0,),
    simple_step_mae_H=(160.0,),
    samples=(),
    pairs=(),
    failures=(),
)


@pytest.mark.parametrize(
    ("failure", "sentence", "key"),
    [
        (
            {"metric": "mae", "value": 120.0, "bound": 100.0},
            "the mean absolute error is 120 and must be at most 100 (too large by 20)",
            "max_mae",
        ),
        (
            {"metric": "skill", "value": 0.25, "bound": 0.3},
            "the skill is 0.2500 and must be at least 0.3000 (short by 0.0500): the mean absolute "
            "error is 120, and 160 if one says the value 48 steps before",
            "min_skill",
        ),
        (
            {"metric": "mae", "kind": "change", "value": 0.034, "bound": 0.01},
            "the mean absolute error rose by 3.4% against the last published model, and may rise "
            "by 1.0%",
            "max_mae_rise",
        ),
    ],
)
def test_a_missed_threshold_of_numbers_is_described(failure, sentence, key):
    found = dataclasses.replace(_NUMBERS, failures=(_failure(**failure),))
    with pytest.raises(gates.GateRefusedError) as caught:
        gate.check(found)
    assert caught.value.sentence == (
        f"The model is not good enough to publish: {sentence}. Train longer or change the model "
        f"or the data; or, if the model will do, relax `evaluation.{key}`."
    )


def test_a_model_that_trees_are_better_than_is_told_to_use_them():
    comparison = outcome.Comparison(
        name="boosted trees",
        advice="Trees do better on this table: use them.",
        metric="accuracy",
        value=0.81,
        gain=-0.01,
        interval=(-0.02, -0.005),
        num_train=900,
    )
    failure = _failure(kind="reference", value=-0.01, bound=0.0)
    found = dataclasses.replace(_GOOD, blessed=False, failures=(failure,), comparison=comparison)
    with pytest.raises(gates.GateRefusedError) as caught:
        gate.check(found, _NAMES)
    assert caught.value.sentence == (
        "The model is not good enough to publish: boosted trees from scikit-learn, on the same "
        "rows, have an accuracy of 0.81: the model is worse by 0.01 (95% interval -0.02 to "
        "-0.005). Trees do better on this table: use them. Train longer or change the model or "
        "the data; or, if the model will do, relax `evaluation.reference`."
    )
