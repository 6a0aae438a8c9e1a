"""All variables of a run as named arrays: what a checkpoint holds and a resume puts back."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from components.trainer import schedule, step


def take(train_step: step.TrainStep, rate: schedule.WarmupSchedule) -> dict[str, np.ndarray]:
    """Copies every variable that the next step depends on.

    Seeds are not among them: they are a function of the recipe's seed and the step.

    Args:
        train_step: Model, optimizer, loss scale, average and step count.
        rate: The learning-rate schedule, whose factor a plateau lowers.
    """
    return {
        name: np.array(keras.ops.convert_to_numpy(variable))
        for name, variable in _named_variables(train_step, rate).items()
    }


class Reader:
    """Takes the same snapshot again and again, in a third of the time: all reads are one call.

    Args:
        train_step: Model, optimizer, loss scale, average and step count.
        rate: The learning-rate schedule.
    """

    def __init__(self, train_step: step.TrainStep, rate: schedule.WarmupSchedule):
        named = _named_variables(train_step, rate)
        self._names = list(named)
        variables = [v.value if isinstance(v, keras.Variable) else v for v in named.values()]
        # Traced here, so that no step waits for it.
        self._read = tf.function(
            lambda: [tf.identity(variable) for variable in variables], autograph=False
        ).get_concrete_function()

    def take(self) -> dict[str, np.ndarray]:
        """Copies what `take` copies."""
        values = [np.array(value) for value in self._read()]
        return dict(zip(self._names, values, strict=True))


def put_back(
    train_step: step.TrainStep, rate: schedule.WarmupSchedule, arrays: Mapping[str, np.ndarray]
) -> None:
    """Sets every variable; the number of replicas may differ from that of the run that took them.

    Raises:
        ValueError: If names or shapes do not fit; nothing is then changed.
    """
    variables = _named_variables(train_step, rate)
    expected = {name: tuple(variable.shape) for name, variable in variables.items()}
    received = {name: array.shape for name, array in arrays.items()}
    if expected != received:
        differing = sorted(
            name for name in expected | received if expected.get(name) != received.get(name)
        )
        raise ValueError(
            "The checkpoint's arrays do not fit the model that the recipe builds; it was written "
            f"by another version of the code. They differ in: {', '.join(differing[:5])}. "
            "Start afresh in another folder."
        )
    with train_step.strategy.scope():
        for name, variable in variables.items():
            variable.assign(arrays[name])


def _named_variables(train_step: step.TrainStep, rate: schedule.WarmupSchedule) -> dict[str, Any]:
    groups = {
        "model": train_step.model.weights,
        "optimizer": train_step.optimizer.variables,
        "average": train_step.average.variables if train_step.average else [],
        "loss_scale": train_step.scale.variables if train_step.scale else [],
        "rate_factor": [rate.factor],
        "global_step": [train_step.global_step],
    }
    return {
        f"{group}/{index:04d}": variable
        for group, variables in groups.items()
        for index, variable in enumerate(variables)
    }
