"""Compares a model with a simple learner's answers to the same test examples.

Legend: N test examples.
"""

import dataclasses
from typing import Literal, TypeVar

import numpy as np

from components.evaluator import outcome
from components.evaluator.numbers import bootstrap
from components.reference.answers import Answers

OutcomeT = TypeVar("OutcomeT", outcome.EvaluationOutcome, outcome.NumbersOutcome)


def compare_classes(
    reference: Answers, *, labels_N: np.ndarray, predictions_N: np.ndarray
) -> outcome.Comparison:
    """Compares accuracies.

    Args:
        reference: The learner's answers.
        labels_N: True labels, in the same order.
        predictions_N: The model's labels.

    Raises:
        ValueError: If the learner answered other examples.
    """
    _check_length(reference, len(labels_N))
    is_right_N = reference.answers_N == labels_N
    gains_N = (predictions_N == labels_N).astype(np.float64) - is_right_N
    return _comparison(reference, "accuracy", float(is_right_N.mean()), gains_N)


def compare_numbers(
    reference: Answers, *, targets_N: np.ndarray, errors_N: np.ndarray
) -> outcome.Comparison:
    """Compares mean absolute errors.

    Args:
        reference: The learner's answers.
        targets_N: True numbers, in the same order.
        errors_N: The model's absolute errors.

    Raises:
        ValueError: If the learner answered other examples.
    """
    _check_length(reference, len(targets_N))
    its_errors_N = np.abs(reference.answers_N - targets_N)
    return _comparison(reference, "mae", float(its_errors_N.mean()), its_errors_N - errors_N)


def require(found: OutcomeT) -> OutcomeT:
    """Returns an outcome in which a model that the learner is as good as has failed."""
    comparison = found.comparison
    # Not `<=`: a NaN must not pass.
    if comparison is None or comparison.gain > 0.0:
        return found
    failure = outcome.Failure(
        metric=comparison.metric, label=None, kind="reference", value=comparison.gain, bound=0.0
    )
    return dataclasses.replace(found, blessed=False, failures=(*found.failures, failure))


def _check_length(reference: Answers, num_examples: int) -> None:
    if len(reference.answers_N) != num_examples:
        raise ValueError(
            "The reference must answer every test example. "
            f"Received: {len(reference.answers_N)} answers to {num_examples} examples. "
            "Run the step `reference` again."
        )


def _comparison(
    reference: Answers, metric: Literal["accuracy", "mae"], value: float, gains_N: np.ndarray
) -> outcome.Comparison:
    return outcome.Comparison(
        name=reference.name,
        advice=reference.advice,
        metric=metric,
        value=value,
        gain=float(gains_N.mean()),
        interval=bootstrap.mean_interval(gains_N),
        num_train=reference.num_train,
    )
