"""Learning-rate schedules, each derived from the total number of steps."""

import math
from typing import Any

import keras

from components.trainer import config, run_length

# One cycle starts this far below the peak and ends this far below it
# (https://arxiv.org/abs/1708.07120).
_ONE_CYCLE_START_DIVISOR = 25.0
_ONE_CYCLE_END_DIVISOR = 1e4


class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises to the peak over the warm-up, then follows a curve that ends with the last step.

    Warm-up step s has the rate `peak * (s + 1) / warmup_steps`: no step is wasted at rate 0.

    Args:
        name: `constant`, `linear`, `cosine`, `one_cycle` or `reduce_on_plateau`.
        peak: Highest rate, > 0.
        total_steps: Steps of the whole run, warm-up included; > 0.
        warmup_steps: In [0, total_steps).

    Attributes:
        factor: Float32 variable that multiplies every rate; 1.0 until a plateau lowers it.

    Raises:
        ValueError: If the warm-up leaves no step for training.
    """

    def __init__(self, *, name: str, peak: float, total_steps: int, warmup_steps: int):
        if not 0 <= warmup_steps < total_steps:
            raise ValueError(
                "`warmup_steps` must be at least 0 and smaller than the number of steps of the "
                f"run. Received: warmup_steps={warmup_steps}, total_steps={total_steps}."
            )
        self.name = name
        self.peak = peak
        self.total_steps = total_steps
        self.warmup_steps = warmup_steps
        self.factor = keras.Variable(1.0, trainable=False, dtype="float32", name="rate_factor")

    def __call__(self, step: Any) -> Any:
        """Returns the rate, a float32 scalar, at a step counted from 0."""
        step = keras.ops.cast(step, "float32")
        remaining = float(self.total_steps - self.warmup_steps)
        progress = keras.ops.clip((step - self.warmup_steps) / remaining, 0.0, 1.0)
        rate = self.peak * self._decay(progress)
        if self.warmup_steps > 0:
            rate = keras.ops.where(step < self.warmup_steps, self._warmup(step), rate)
        return rate * self.factor

    def _warmup(self, step: Any) -> Any:
        share = (step + 1.0) / self.warmup_steps
        if self.name != "one_cycle":
            return self.peak * share
        start = self.peak / _ONE_CYCLE_START_DIVISOR
        return start + (self.peak - start) * (1.0 - _half_cosine(share))

    def _decay(self, progress: Any) -> Any:
        if self.name in ("constant", "reduce_on_plateau"):
            return keras.ops.ones_like(progress)
        if self.name == "linear":
            return 1.0 - progress
        if self.name == "cosine":
            return _half_cosine(progress)
        end = 1.0 / _ONE_CYCLE_END_DIVISOR
        return end + (1.0 - end) * _half_cosine(progress)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            "name": self.name,
            "peak": self.peak,
            "total_steps": self.total_steps,
            "warmup_steps": self.warmup_steps,
        }


def make_schedule(
    schedule: config.ScheduleConfig, *, peak: float, total_steps: int
) -> WarmupSchedule:
    """Derives the schedule of a run.

    Args:
        schedule: The recipe's schedule.
        peak: Highest learning rate, > 0.
        total_steps: Optimizer steps of the whole run, > 0.

    Returns:
        A function from the step, counted from 0, to the rate.
    """
    return WarmupSchedule(
        name=schedule.name,
        peak=peak,
        total_steps=total_steps,
        warmup_steps=run_length.warmup_steps(schedule, total_steps=total_steps),
    )


def _half_cosine(share: Any) -> Any:
    return 0.5 * (1.0 + keras.ops.cos(math.pi * share))
