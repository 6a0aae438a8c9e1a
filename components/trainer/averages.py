"""A moving average of the weights, which often measures better than the weights themselves."""

import contextlib
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from components.trainer import float8


class WeightAverage:
    """Averages the trainable weights over steps; make it in the strategy's scope.

    The momentum rises with the steps, `min(momentum, (1 + n) / (10 + n))`, so that the first
    weights are soon forgotten.

    Args:
        model: A built model.
        momentum: In (0, 1); the average reaches back about `1 / (1 - momentum)` steps.
    """

    def __init__(self, model: keras.Model, *, momentum: float):
        self._weights = float8.learned_variables(model)
        self._momentum = momentum
        self.variables = [
            tf.Variable(
                keras.ops.convert_to_numpy(variable),
                trainable=False,
                name=f"average_{index}",
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            )
            for index, variable in enumerate(self._weights)
        ]

    def update(self, num_updates: tf.Tensor, strategy: tf.distribute.Strategy) -> None:
        """Takes the current weights in; call it outside the replicas, after each update.

        Args:
            num_updates: Updates so far, this one included.
            strategy: The strategy in whose scope the model was made.
        """
        count = tf.cast(tf.convert_to_tensor(num_updates), tf.float32)
        momentum = tf.minimum(self._momentum, (1.0 + count) / (10.0 + count))

        def mix(average: tf.Variable, weight: tf.Tensor, momentum: tf.Tensor) -> None:
            average.assign(momentum * average + (1.0 - momentum) * weight)

        for average, variable in zip(self.variables, self._weights, strict=True):
            strategy.extended.update(average, mix, args=(variable.value, momentum))

    @contextlib.contextmanager
    def swapped_in(self, strategy: tf.distribute.Strategy) -> Iterator[None]:
        """Gives the model the averaged weights for the body, and its own again after it.

        Args:
            strategy: The strategy in whose scope the model was made.
        """
        own = [np.array(keras.ops.convert_to_numpy(variable)) for variable in self._weights]
        self.copy_to_model(strategy)
        try:
            yield
        finally:
            self._set_model(own, strategy)

    def copy_to_model(self, strategy: tf.distribute.Strategy) -> None:
        """Gives the model the averaged weights for good.

        Args:
            strategy: The strategy in whose scope the model was made.
        """
        self._set_model([keras.ops.convert_to_numpy(v) for v in self.variables], strategy)

    def _set_model(self, values: list[np.ndarray], strategy: tf.distribute.Strategy) -> None:
        with strategy.scope():
            for variable, value in zip(self._weights, values, strict=True):
                variable.assign(value)
