"""Measures what rematerialisation saves and costs: memory at the peak of a step, and its time."""

import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from components.trainer import rematerialisation, schedule, snapshot
from components.trainer import step as train_step
from components.trainer.diagnostics import estimate
from models.base_config import StrictConfig

_TRIAL_STEPS = 3
_STATUS = pathlib.Path("/proc/self/status")
# Writing 5 there sets the peak of this process back to what it holds now.
_CLEAR_REFS = pathlib.Path("/proc/self/clear_refs")


class StepCost(StrictConfig):
    """What a step takes.

    Attributes:
        seconds: Of one step.
        peak_bytes: Most memory at once, beyond what was in use before the first step.
    """

    seconds: float
    peak_bytes: int


class RematerialisationCost(StrictConfig):
    """What a step takes with rematerialisation and without it.

    Attributes:
        with_it: With it.
        without_it: Without it; None where it might not fit into memory.
    """

    with_it: StepCost
    without_it: StepCost | None = None

    def sentence(self) -> str:
        """Says what was measured."""
        text = f"Rematerialisation: a step takes {_words(self.with_it)}"
        if self.without_it is None:
            return f"{text}; without it might not fit, and was not tried."
        return f"{text}; without it {_words(self.without_it)}."


def measure(
    step: train_step.TrainStep,
    rate: schedule.WarmupSchedule,
    batches: Iterator[Any],
    *,
    network: rematerialisation.Rematerialised,
    try_without: bool,
) -> RematerialisationCost:
    """Takes a few steps each way; the run's state is untouched.

    Call it before any other step: the backend keeps memory that it once had, so that the smaller
    need can only be seen first.

    Args:
        step: The train step; it uses `network` afterwards.
        rate: The learning-rate schedule.
        batches: Training batches.
        network: The step's model, rematerialised.
        try_without: False where the plain step might not fit.
    """
    before = snapshot.take(step, rate)
    peak_bytes = _peak_counter()
    step.set_network(network)
    with_it = _cost(step, batches, peak_bytes)
    without_it = None
    if try_without:
        step.set_network(step.model)
        without_it = _cost(step, batches, peak_bytes)
        step.set_network(network)
    snapshot.put_back(step, rate, before)
    return RematerialisationCost(with_it=with_it, without_it=without_it)


def _cost(
    step: train_step.TrainStep, batches: Iterator[Any], peak_bytes: Callable[[], int]
) -> StepCost:
    step.run(batches, 1)  # Traces.
    started = time.monotonic()
    step.run(batches, _TRIAL_STEPS)
    seconds = (time.monotonic() - started) / _TRIAL_STEPS
    return StepCost(seconds=seconds, peak_bytes=peak_bytes())


def _peak_counter() -> Callable[[], int]:
    """Returns a function to the most bytes in use since now, beyond those in use now."""
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    if gpus:
        memory = tf.config.experimental
        memory.reset_memory_stats(gpus[0])
        in_use = memory.get_memory_info(gpus[0])["current"]
        return lambda: int(memory.get_memory_info(gpus[0])["peak"] - in_use)
    _CLEAR_REFS.write_text("5")
    resident = _status_bytes("VmRSS")
    return lambda: _status_bytes("VmHWM") - resident


def _status_bytes(key: str) -> int:
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) * 1024


def _words(cost: StepCost) -> str:
    return f"{1e3 * cost.seconds:.0f} ms and {estimate.format_bytes(cost.peak_bytes)} at its peak"
