"""Metrics as sums over examples: they add up over batches, replicas and workers exactly.

Axes: B batch, K classes, N numbers.
"""

import math
from typing import Protocol

import keras
import tensorflow as tf

# Float32 scalars, summed over examples: `loss`, `weight`, and what the measure adds.
Totals = dict[str, tf.Tensor]


class Measure(Protocol):
    """What is summed for one kind of answer.

    Attributes:
        output_name: The model's output that it looks at.
        names: The sums.
    """

    output_name: str
    names: tuple[str, ...]

    def batch_totals(
        self, outputs: tf.Tensor, answers: tf.Tensor, losses_B: tf.Tensor, weights_B: tf.Tensor
    ) -> Totals:
        """Sums what the metrics are made of; padding has weight 0 and drops out.

        Args:
            outputs: What the model gave.
            answers: What it should have given.
            losses_B: Losses, weighted already.
            weights_B: Weight of each example.
        """


class ClassMeasure(Measure):
    """Sums for classes: logits (B, K) against integer labels (B,) or shares of classes (B, K).

    An example counts as correct that is given the class with the largest share.
    """

    output_name = "logits"
    names = ("loss", "correct", "weight")

    def batch_totals(
        self, outputs: tf.Tensor, answers: tf.Tensor, losses_B: tf.Tensor, weights_B: tf.Tensor
    ) -> Totals:
        """Counts what is correct; see `Measure.batch_totals`."""
        classes_B = tf.cast(answers, tf.int64)
        if len(answers.shape) == 2:
            classes_B = tf.argmax(answers, axis=-1)
        is_correct_B = tf.cast(tf.argmax(outputs, axis=-1) == classes_B, tf.float32)
        return {
            "loss": tf.reduce_sum(losses_B),
            "correct": tf.reduce_sum(is_correct_B * weights_B),
            "weight": tf.reduce_sum(weights_B),
        }


class NumberMeasure(Measure):
    """Sums for numbers: predictions (B, N) against targets (B, N), both in the target's unit."""

    output_name = "predictions"
    names = ("loss", "absolute_error", "squared_error", "weight")

    def batch_totals(
        self, outputs: tf.Tensor, answers: tf.Tensor, losses_B: tf.Tensor, weights_B: tf.Tensor
    ) -> Totals:
        """Sums each example's mean error over its N numbers; see `Measure.batch_totals`."""
        errors_BN = tf.cast(outputs, tf.float32) - answers
        absolute_B = tf.reduce_mean(tf.abs(errors_BN), axis=-1)
        squared_B = tf.reduce_mean(tf.square(errors_BN), axis=-1)
        return {
            "loss": tf.reduce_sum(losses_B),
            "absolute_error": tf.reduce_sum(absolute_B * weights_B),
            "squared_error": tf.reduce_sum(squared_B * weights_B),
            "weight": tf.reduce_sum(weights_B),
        }


def measure_of(model: keras.Model) -> Measure:
    """Returns the measure for what a model gives.

    Args:
        model: Functional model that returns `{"logits": (B, K)}` or `{"predictions": (B, N)}`.

    Raises:
        ValueError: If it returns anything else.
    """
    kinds: tuple[Measure, ...] = (ClassMeasure(), NumberMeasure())
    for kind in kinds:
        if isinstance(model.output, dict) and list(model.output) == [kind.output_name]:
            return kind
    raise ValueError(
        "The model must return {'logits': (B, K)} or {'predictions': (B, N)}. "
        f"Received: output={model.output}."
    )


def zero_totals(measure: Measure) -> Totals:
    """Returns the sums over no examples."""
    return {name: tf.zeros(()) for name in measure.names}


def sum_over_replicas(totals: Totals, strategy: tf.distribute.Strategy) -> Totals:
    """Adds up what `strategy.run` returned; call it outside the replicas."""
    return {name: strategy.reduce("SUM", total, axis=None) for name, total in totals.items()}


def means(totals: dict[str, float]) -> dict[str, float]:
    """Turns sums over examples into `loss` and `accuracy`, or into `loss`, `mae` and `rmse`.

    >>> means({"loss": 3.0, "correct": 1.0, "weight": 2.0})
    {'loss': 1.5, 'accuracy': 0.5}
    >>> means({"loss": 3.0, "absolute_error": 4.0, "squared_error": 18.0, "weight": 2.0})
    {'loss': 1.5, 'mae': 2.0, 'rmse': 3.0}
    """
    weight = totals["weight"]
    if "correct" in totals:
        return {"loss": totals["loss"] / weight, "accuracy": totals["correct"] / weight}
    return {
        "loss": totals["loss"] / weight,
        "mae": totals["absolute_error"] / weight,
        "rmse": math.sqrt(totals["squared_error"] / weight),
    }
