"""Answers that differ from Keras's are refused, with the signature and the difference."""

import numpy as np
import pytest

from components import gates
from components.model_check import compare

_NAMES = ("cat", "dog")
_EXPECTED_BK = np.array([[0.75, 0.25], [0.125, 0.875]], np.float32)


def _answer(**changes):
    values = {
        "probabilities": _EXPECTED_BK.tolist(),
        "class_ids": [0, 1],
        "classes": ["cat", "dog"],
    }
    return {**values, **changes}


def _refusal(**changes):
    answers = {"serving_default": _answer(), "serve_bytes": _answer(**changes)}
    with pytest.raises(gates.GateRefusedError, match="Signature 'serve_bytes'") as caught:
        compare.check_answers(answers, _EXPECTED_BK, _NAMES)
    return caught.value.sentence


def test_equal_answers_pass_with_difference_zero():
    assert compare.check_answers({"serve_bytes": _answer()}, _EXPECTED_BK, _NAMES) == 0.0


def test_a_difference_within_the_tolerance_passes_and_is_returned():
    near_BK = _EXPECTED_BK + np.float32([[5e-6, -5e-6]] * 2)
    answers = {"serve_bytes": _answer(probabilities=near_BK.tolist())}
    assert compare.check_answers(answers, _EXPECTED_BK, _NAMES) == pytest.approx(5e-6, rel=0.02)


def test_a_larger_difference_is_refused_with_its_size():
    far = [[0.75, 0.25], [0.1252, 0.8748]]
    sentence = _refusal(probabilities=far)
    assert "on 1 of 2 examples" in sentence
    assert "differ by up to 0.0002, and may differ by 1e-05" in sentence


def test_a_probability_that_is_no_number_is_refused():
    assert "differ by up to nan" in _refusal(probabilities=[[float("nan"), 0.25], [0.125, 0.875]])


def test_probabilities_of_another_shape_are_refused():
    assert "Received: shape (2, 1)" in _refusal(probabilities=[[0.75], [0.125]])


def test_class_ids_that_are_not_the_most_probable_are_refused():
    assert "gives class_ids that are not the most probable" in _refusal(class_ids=[1, 1])


def test_names_that_belong_to_other_classes_are_refused():
    assert "gives names that do not belong" in _refusal(classes=["dog", "dog"])


def test_a_missing_signature_is_refused():
    assert "Signature 'serve_bytes' is missing" in _refusal(error="is missing; the model has []")


_PREDICTIONS_BN = np.array([[5000.0, 10.0], [-400.0, 0.0]], np.float32)


def test_predictions_are_compared_by_the_size_of_the_largest():
    near_BN = _PREDICTIONS_BN + np.float32([[0.0, 0.02], [0.0, 0.0]])
    answers = {"serving_default": {"predictions": near_BN.tolist()}}
    largest = compare.check_predictions(answers, _PREDICTIONS_BN)
    assert largest == pytest.approx(0.02 / 5000, rel=0.01)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            {"predictions": [[5000.0, 10.1], [-400.0, 0.0]]},
            "on 1 of 2 examples: the predictions differ by up to 0.1, and may differ by 0.05",
        ),
        ({"predictions": [[5000.0], [-400.0]]}, r"of shape \(2, 2\). Received: shape \(2, 1\)"),
        ({"predictions": [[float("nan"), 10.0], [-400.0, 0.0]]}, "differ by up to nan"),
        ({"error": "is missing"}, "Signature 'serve_examples' is missing"),
    ],
)
def test_other_predictions_are_refused(answer, sentence):
    with pytest.raises(gates.GateRefusedError, match=sentence):
        compare.check_predictions({"serve_examples": answer}, _PREDICTIONS_BN)
