"""Operations that give the same bits every time, and what that costs.

On a processor TensorFlow's operations do so anyway. On a GPU some add in the order in which threads
finish, so that two equal runs, and a run and its resume, differ in their last bits.
"""

import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from components.trainer import schedule, snapshot
from components.trainer import step as train_step
from models.base_config import StrictConfig

_TRIAL_STEPS = 8
_TRIALS = 3


class DeterminismCost(StrictConfig):
    """What a step takes with deterministic operations and without them, in seconds."""

    with_it: float
    without_it: float

    def sentence(self) -> str:
        """Says what was measured.

        >>> DeterminismCost(with_it=0.011, without_it=0.010).sentence()
        'Deterministic operations: a step takes 11.00 ms, and 10.00 ms without them (1.10x).'
        """
        return (
            f"Deterministic operations: a step takes {1e3 * self.with_it:.2f} ms, and "
            f"{1e3 * self.without_it:.2f} ms without them ({self.with_it / self.without_it:.2f}x)."
        )


def enable(step: train_step.TrainStep) -> None:
    """Makes TensorFlow's operations deterministic in this process, for good.

    One without a deterministic form then raises an error that names it.

    Args:
        step: The train step; it is traced anew.
    """
    tf.config.experimental.enable_op_determinism()
    step.avoid_tensorflows_clock()


def measure_and_enable(
    step: train_step.TrainStep, rate: schedule.WarmupSchedule, batches: Iterator[Any]
) -> DeterminismCost:
    """Takes a few steps without and with; the run's state is untouched.

    Args:
        step: The train step; it is deterministic afterwards.
        rate: The learning-rate schedule.
        batches: Training batches.
    """
    before = snapshot.take(step, rate)
    without_it = _step_secs(step, batches)
    enable(step)
    with_it = _step_secs(step, batches)
    snapshot.put_back(step, rate, before)
    return DeterminismCost(with_it=with_it, without_it=without_it)


def _step_secs(step: train_step.TrainStep, batches: Iterator[Any]) -> float:
    step.run(batches, 1)  # Traces.
    seconds = []
    for _ in range(_TRIALS):
        started = time.monotonic()
        step.run(batches, _TRIAL_STEPS)
        seconds.append((time.monotonic() - started) / _TRIAL_STEPS)
    return min(seconds)
