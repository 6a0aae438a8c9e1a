"""Auto execution: measures how this model runs best on this machine, and remembers it.

The mathematics is the same for every choice; XLA may round differently, so the choice belongs to a
run's checkpoints, and the same machine makes it once.
"""

import hashlib
import json
import math
import os
import pathlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import keras
import tensorflow as tf

from components.trainer import determinism, memory_trial, schedule, snapshot, strategy
from components.trainer import step as train_step
from models.base_config import StrictConfig

# A stop or a log line waits for the end of an execution, so that it should not take longer.
_TARGET_SECS = 0.5
_MAX_STEPS = 256
_UNMEASURED_STEPS = 32
_TRIAL_STEPS = 8
# Compiling takes seconds; a run shorter than this cannot win them back.
_MIN_RUN_SECS_FOR_JIT = 60.0
_MIN_JIT_GAIN = 1.02
# The quickest of some trials, because other work on the machine can only lengthen one.
_NUM_TRIALS = 3
_MAX_TRIALS_SECS = 2.0


class Execution(StrictConfig):
    """How steps are executed.

    Attributes:
        steps_per_execution: Steps between two returns to Python.
        jit_compile: True if XLA compiles the step.
        rematerialisation: What it saves and costs; None where the recipe does not ask for it, or
            where it was not measured.
        deterministic: What deterministic operations cost; None likewise.
    """

    steps_per_execution: int
    jit_compile: bool
    rematerialisation: memory_trial.RematerialisationCost | None = None
    deterministic: determinism.DeterminismCost | None = None

    def sentence(self) -> str:
        """Says how the steps are executed.

        >>> Execution(steps_per_execution=1, jit_compile=False).sentence()
        'Steps between two returns to Python: 1; compiled by XLA: no.'
        """
        compiled = "yes" if self.jit_compile else "no"
        text = f"Steps between two returns to Python: {self.steps_per_execution}; compiled by XLA: "
        costs = [cost.sentence() for cost in (self.rematerialisation, self.deterministic) if cost]
        return " ".join([f"{text}{compiled}.", *costs])


def choose(
    step: train_step.TrainStep,
    rate: schedule.WarmupSchedule,
    make_batches: Callable[[], Iterator[Any]],
    *,
    steps_per_execution: int | Literal["auto"],
    jit_compile: bool | Literal["auto"],
    num_steps: int,
    memory: pathlib.Path | None = None,
) -> Execution:
    """Takes the recipe's settings, or measures where they say `auto`; the run's state is untouched.

    Args:
        step: The train step; XLA is switched on or off in it.
        rate: The learning-rate schedule.
        make_batches: Makes an iterator of training batches for the trials.
        steps_per_execution: The recipe's setting.
        jit_compile: The recipe's setting.
        num_steps: Steps of the whole run.
        memory: File that keeps the choice for this model and machine.

    Raises:
        ValueError: If XLA is asked for with more than one replica.
    """
    check_jit(jit_compile, num_replicas=step.strategy.num_replicas_in_sync)
    if memory is not None and memory.exists():
        chosen = Execution.from_dict(json.loads(memory.read_text()))
        step.set_jit(chosen.jit_compile)
        return chosen
    if jit_compile is True:
        step.set_jit(True)
    if strategy.is_cluster(step.strategy) and steps_per_execution == "auto":
        # Workers that chose differently would wait for each other for ever.
        return Execution(steps_per_execution=_UNMEASURED_STEPS, jit_compile=jit_compile is True)
    if steps_per_execution != "auto" and jit_compile != "auto":
        return Execution(steps_per_execution=steps_per_execution, jit_compile=jit_compile)
    before = snapshot.take(step, rate)
    chosen = _measure(step, make_batches(), steps_per_execution, jit_compile, num_steps)
    snapshot.put_back(step, rate, before)
    if memory is not None:
        _remember(memory, chosen)
    return chosen


def check_jit(jit_compile: bool | Literal["auto"], *, num_replicas: int) -> None:
    """Checks that XLA can compile the step.

    Raises:
        ValueError: If it is asked for with more than one replica, which TensorFlow cannot compile.
    """
    if jit_compile is True and num_replicas > 1:
        raise ValueError(
            "`training.jit_compile` works on one device alone: TensorFlow cannot compile the sum "
            f"over replicas. Received: jit_compile=True, num_replicas={num_replicas}. "
            "Set it to false, or use the strategy one_device."
        )


def may_gain_by_jit(step: train_step.TrainStep, run_secs: float) -> bool:
    """Says whether a trial of XLA is worth its seconds.

    Args:
        step: The train step.
        run_secs: Length of the whole run without XLA.
    """
    if step.strategy.num_replicas_in_sync > 1 or run_secs < _MIN_RUN_SECS_FOR_JIT:
        return False
    has_gpu = bool(tf.config.list_logical_devices("GPU"))
    # XLA's convolutions on a processor took seven times as long as TensorFlow's own.
    return has_gpu or not any("conv" in type(layer).__name__.lower() for layer in step.model.layers)


def memory_path(cache_dir: pathlib.Path, settings: Mapping[str, Any]) -> pathlib.Path:
    """Returns the file in which the choice for these settings on this machine is kept.

    Args:
        cache_dir: Folder of things that can be made again.
        settings: All that the choice depends on, as JSON can hold it.
    """
    devices = [device.name for device in tf.config.list_logical_devices()]
    machine = [platform.processor(), os.cpu_count(), devices, tf.__version__, keras.__version__]
    text = json.dumps([settings, machine], sort_keys=True)
    return cache_dir / "execution" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _measure(
    step: train_step.TrainStep,
    batches: Iterator[Any],
    steps_per_execution: int | Literal["auto"],
    jit_compile: bool | Literal["auto"],
    num_steps: int,
) -> Execution:
    step_secs = _step_secs(step, batches)
    use_jit = jit_compile is True
    if jit_compile == "auto" and may_gain_by_jit(step, step_secs * num_steps):
        step.set_jit(True)
        jit_secs = _step_secs(step, batches)
        use_jit = jit_secs * _MIN_JIT_GAIN < step_secs
        if use_jit:
            step_secs = jit_secs
        else:
            step.set_jit(False)
    if steps_per_execution == "auto":
        steps_per_execution = _power_of_two(_TARGET_SECS / step_secs)
    return Execution(steps_per_execution=steps_per_execution, jit_compile=use_jit)


def _step_secs(step: train_step.TrainStep, batches: Iterator[Any]) -> float:
    step.run(batches, 1)  # Traces, and compiles.
    quickest = math.inf
    num_steps = _TRIAL_STEPS
    started = time.monotonic()
    for _ in range(_NUM_TRIALS):
        trial_started = time.monotonic()
        step.run(batches, num_steps)
        quickest = min(quickest, (time.monotonic() - trial_started) / num_steps)
        if time.monotonic() - started > _MAX_TRIALS_SECS:
            break
        # As many as one execution will have, so that the way back to Python counts as it will.
        num_steps = _power_of_two(_TARGET_SECS / max(quickest, 1e-6))
    return max(quickest, 1e-6)


def _power_of_two(limit: float) -> int:
    return 2 ** int(math.log2(min(max(limit, 1.0), _MAX_STEPS)))


def _remember(path: pathlib.Path, chosen: Execution) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".partial-{os.getpid()}")
    partial.write_text(json.dumps(chosen.to_dict()))
    partial.rename(path)
