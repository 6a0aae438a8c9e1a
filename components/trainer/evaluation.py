"""Exact evaluation: every example counts once, also when the last batch is short.

Axes: B batch.
"""

from collections.abc import Callable, Iterable
from typing import Any

import keras
import tensorflow as tf

from components.trainer import float8, metrics, step


def make_evaluate(
    model: keras.Model, loss_function: step.LossFunction, *, strategy: tf.distribute.Strategy
) -> Callable[[Iterable[Any]], dict[str, float]]:
    """Makes a function that measures the model on a dataset; it is traced once, without float8.

    Args:
        model: Functional model that returns `{"logits": (B, K)}` or `{"predictions": (B, N)}`.
        loss_function: From outputs and answers to the losses (B,).
        strategy: The strategy in whose scope the model was made.

    Returns:
        From a finite dataset of (inputs, answers, weights_B), where padding has weight 0, to the
        weighted means that `metrics.means` names.
    """
    measure = metrics.measure_of(model)

    def replica_totals(
        inputs: step.Inputs, answers: tf.Tensor, weights_B: tf.Tensor
    ) -> metrics.Totals:
        outputs = model(inputs, training=False)[measure.output_name]
        losses_B = loss_function(outputs, answers) * weights_B
        return measure.batch_totals(outputs, answers, losses_B, weights_B)

    @tf.autograph.experimental.do_not_convert
    def batch_totals(batch: step.Batch) -> metrics.Totals:
        return metrics.sum_over_replicas(strategy.run(replica_totals, args=batch), strategy)

    @tf.function
    def sum_over(dataset: Iterable[Any]) -> metrics.Totals:
        totals = metrics.zero_totals(measure)
        for batch in dataset:
            part = batch_totals(batch)
            totals = {name: totals[name] + part[name] for name in totals}
        return totals

    def evaluate(dataset: Iterable[Any]) -> dict[str, float]:
        with float8.switched_off(model):
            totals = sum_over(dataset)
        return metrics.means({name: float(total) for name, total in totals.items()})

    return evaluate
