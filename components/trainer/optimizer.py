"""Optimizers by name, for gradients that have been summed over the replicas already."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from components.trainer import config


class _ReducedGradients(keras.optimizers.Optimizer):
    """Takes gradients as they are, and looks up the rate once for each step.

    Keras sums over replicas inside the optimizer, after clipping and after looking for non-finite
    values; both are then wrong under distribution. The train step sums first. Keras also computes
    the schedule again for each variable that decays, a seventh of a small network's step.
    """

    _step_rate: tf.Tensor | None = None

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """Updates the variables; see Keras."""
        self._step_rate = super()._get_current_learning_rate()
        try:
            super().apply(grads, trainable_variables)
        finally:
            self._step_rate = None

    def _get_current_learning_rate(self) -> Any:
        if self._step_rate is None:
            return super()._get_current_learning_rate()
        return self._step_rate

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        return grads_and_vars


class AdamW(_ReducedGradients, keras.optimizers.AdamW):
    """AdamW (https://arxiv.org/abs/1711.05101) for reduced gradients."""


class SGD(_ReducedGradients, keras.optimizers.SGD):
    """Stochastic gradient descent with Nesterov momentum for reduced gradients."""


class Adafactor(_ReducedGradients, keras.optimizers.Adafactor):
    """Adafactor (https://arxiv.org/abs/1804.04235) for reduced gradients."""


class Lion(_ReducedGradients, keras.optimizers.Lion):
    """Lion (https://arxiv.org/abs/2302.06675) for reduced gradients."""


class Muon(_ReducedGradients, keras.optimizers.Muon):
    """Muon for matrices and AdamW for the rest, for reduced gradients."""


_DEFAULT_MOMENTUM = 0.9


def make_optimizer(
    optimizer: config.OptimizerConfig,
    learning_rate: keras.optimizers.schedules.LearningRateSchedule | float,
    *,
    variables: Sequence[keras.Variable],
) -> keras.optimizers.Optimizer:
    """Makes and builds the optimizer; call it in the strategy's scope.

    Decay is decoupled from the gradient and skips every vector and scalar: biases and the scales
    and offsets of normalisation layers. Clipping is the train step's, after the sum over replicas.

    Args:
        optimizer: The recipe's optimizer.
        learning_rate: A rate or a schedule.
        variables: The model's learned variables.

    Returns:
        The optimizer with its state created.
    """
    made = _make(
        optimizer, {"learning_rate": learning_rate, "weight_decay": optimizer.weight_decay}
    )
    made.exclude_from_weight_decay(
        var_list=[variable for variable in variables if len(variable.shape) < 2]
    )
    made.build(variables)
    return made


def _make(optimizer: config.OptimizerConfig, common: dict[str, Any]) -> keras.optimizers.Optimizer:
    if optimizer.name == "sgd":
        momentum = _DEFAULT_MOMENTUM if optimizer.momentum is None else optimizer.momentum
        return SGD(momentum=momentum, nesterov=momentum > 0, **common)
    if optimizer.name == "muon":
        # Muon orthogonalises hidden matrices; its authors give the last layer to AdamW.
        return Muon(exclude_layers=["logits"], **common)
    classes = {"adamw": AdamW, "adafactor": Adafactor, "lion": Lion}
    return classes[optimizer.name](**common)
