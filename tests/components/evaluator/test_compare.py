"""A model and a simple learner are compared example by example."""

import numpy as np
import pytest

from components.evaluator import compare, outcome
from components.reference.answers import Answers


def _answers(values):
    advice = "Trees do better on this table: use them."
    return Answers(name="boosted trees", advice=advice, num_train=1000, answers_N=np.array(values))


def _classes(model_is_right, reference_is_right):
    labels_N = np.zeros(len(model_is_right), int)
    return compare.compare_classes(
        _answers(1 - np.array(reference_is_right, int)),
        labels_N=labels_N,
        predictions_N=1 - np.array(model_is_right, int),
    )


def test_the_gain_is_the_difference_of_the_accuracies():
    found = _classes([1] * 60 + [0] * 40, [1] * 40 + [0] * 40 + [1] * 20)
    assert (found.metric, found.value) == ("accuracy", 0.6)
    assert found.gain == pytest.approx(0.0)
    assert found.verdict() == "alike"


def test_pairing_tells_what_two_separate_intervals_could_not():
    # 900 and 880 of 1,000 are right: by themselves each has an interval of 4 points.
    model, reference = np.arange(1000) < 900, np.arange(1000) < 880
    found = _classes(model, reference)
    assert found.gain == pytest.approx(0.02)
    # Twenty examples differ, all one way: the deviation of their mean is 0.0044.
    assert found.interval == pytest.approx((0.02 - 1.96 * 0.0044, 0.02 + 1.96 * 0.0044), abs=0.002)
    assert found.verdict() == "better"
    worse = _classes(reference, model)
    assert (worse.gain, worse.verdict()) == (pytest.approx(-0.02), "worse")


def test_the_sentence_says_plainly_that_trees_do_better():
    sentence = _classes(np.arange(1000) < 880, np.arange(1000) < 900).sentence()
    assert sentence.startswith(
        "Boosted trees from scikit-learn, on the same rows, have an accuracy of 0.9: the model is "
        "worse by 0.02 (95% interval -0.02"
    )
    assert sentence.endswith("Trees do better on this table: use them.")


def test_smaller_errors_are_a_gain():
    targets_N = np.arange(100.0)
    found = compare.compare_numbers(
        _answers(targets_N + 3.0), targets_N=targets_N, errors_N=np.full(100, 1.0)
    )
    assert (found.metric, found.value, found.gain) == ("mae", 3.0, 2.0)
    assert (found.interval, found.verdict()) == ((2.0, 2.0), "better")


def test_answers_to_other_examples_are_refused():
    with pytest.raises(ValueError, match="Received: 3 answers to 2 examples"):
        compare.compare_numbers(
            _answers([1.0, 2.0, 3.0]), targets_N=np.zeros(2), errors_N=np.zeros(2)
        )


@pytest.mark.parametrize(("model", "is_blessed"), [(60, False), (70, False), (71, True)])
def test_a_model_that_must_beat_the_learner_has_to_be_better(model, is_blessed):
    comparison = _classes(np.arange(100) < model, np.arange(100) < 70)
    found = outcome.EvaluationOutcome(
        blessed=True,
        num_examples=100,
        metrics={"accuracy": model / 100, "loss": 0.5},
        baseline_metrics=None,
        class_accuracy=(0.5, 0.5),
        class_num_examples=(50, 50),
        confusion_KK=((25, 25), (25, 25)),
        failures=(),
        comparison=comparison,
    )
    required = compare.require(found)
    assert required.blessed == is_blessed
    assert [failure.kind for failure in required.failures] == ["reference"] * (not is_blessed)
