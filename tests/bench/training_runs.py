"""Trainings of a reference model on batches in memory, timed in turn: ours, Keras' and PyTorch's.

All begin with the same weights, read the same batches in the same order and take the same steps.
"""

import json
import os
import pathlib
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from components.trainer import build, config, execution
from tests.bench.reference_models import Reference

NUM_BATCHES = 16
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1e-4
# A run that is long enough for the auto execution to try XLA.
_LONG_RUN_STEPS = 10**6


def dataset(reference: Reference) -> tf.data.Dataset:
    """Returns the batches of a reference, in memory and again and again."""
    batches = tf.data.Dataset.from_tensor_slices(reference.batches(NUM_BATCHES))
    batches = batches.batch(reference.batch_size, drop_remainder=True).cache().repeat()
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(4).with_options(options)


def medians(runs: Mapping[str, Callable[[], float]], *, rounds: int) -> dict[str, float]:
    """Calls each run in turn and returns the median of each; the first round does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            seconds[name].append(run())
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}


class EpochClock(keras.callbacks.Callback):
    """Notes the seconds of each epoch, validation included."""

    def on_train_begin(self, logs=None):
        """Starts the list."""
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        """Starts the clock."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Stops the clock."""
        self.seconds.append(time.perf_counter() - self._started)


def compiled_model(
    model: keras.Model,
    settings: config.OptimizerConfig,
    rate: keras.optimizers.schedules.LearningRateSchedule | float,
    *,
    execution_: execution.Execution,
) -> keras.Model:
    """Returns the model, compiled as a user of Keras would for the same training."""
    optimizer = keras.optimizers.AdamW(
        rate,
        weight_decay=settings.weight_decay,
        global_clipnorm=settings.global_clipnorm or None,
    )
    vectors = [variable for variable in model.trainable_variables if len(variable.shape) < 2]
    optimizer.exclude_from_weight_decay(var_list=vectors)
    model.compile(
        optimizer=optimizer,
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
        steps_per_execution=execution_.steps_per_execution,
        jit_compile=execution_.jit_compile,
    )
    return model


def optimizer_config(*, global_clipnorm: float) -> config.OptimizerConfig:
    """Returns the settings of every run here."""
    return config.OptimizerConfig(
        learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY, global_clipnorm=global_clipnorm
    )


class FitRun:
    """Trains with `model.fit`; by default as Keras does by default."""

    def __init__(
        self,
        reference: Reference,
        *,
        steps_per_execution: int = 1,
        jit_compile: bool = False,
        global_clipnorm: float = 1.0,
    ):
        keras.utils.set_random_seed(0)
        self._model = compiled_model(
            reference.build(),
            optimizer_config(global_clipnorm=global_clipnorm),
            LEARNING_RATE,
            execution_=execution.Execution(
                steps_per_execution=steps_per_execution, jit_compile=jit_compile
            ),
        )
        self._dataset = dataset(reference)

    def step_secs(self, num_steps: int) -> float:
        """Trains so many steps, a multiple of those per execution; returns the seconds of one."""
        clock = EpochClock()
        self._model.fit(self._dataset, steps_per_epoch=num_steps, verbose=0, callbacks=[clock])
        return clock.seconds[0] / num_steps


class OwnRun:
    """Trains with Kerasline's step."""

    def __init__(self, reference: Reference, *, global_clipnorm: float = 1.0):
        keras.utils.set_random_seed(0)
        self._built = build.build(
            reference.model,
            config.TrainingConfig(
                num_epochs=1,
                global_batch_size=reference.batch_size,
                optimizer=optimizer_config(global_clipnorm=global_clipnorm),
                schedule=config.ScheduleConfig(name="constant", warmup_steps=0),
            ),
            inputs=reference.inputs,
            head=reference.head(),
            seed=0,
            steps_per_epoch=_LONG_RUN_STEPS,
            strategy=tf.distribute.get_strategy(),
        )
        self._dataset = dataset(reference)
        self._iterator = iter(self._dataset)

    @property
    def weights(self) -> list[np.ndarray]:
        """The trainable weights, in the order of the layers."""
        variables = self._built.step.model.trainable_variables
        return [keras.ops.convert_to_numpy(variable) for variable in variables]

    def set_jit(self, jit_compile: bool) -> None:
        """Chooses XLA or not by hand."""
        self._built.step.set_jit(jit_compile)

    def choose(self) -> execution.Execution:
        """Has the auto execution choose, as it does before a long run."""
        return execution.choose(
            self._built.step,
            self._built.rate,
            lambda: iter(self._dataset),
            steps_per_execution="auto",
            jit_compile="auto",
            num_steps=_LONG_RUN_STEPS,
        )

    def step_secs(self, num_steps: int, *, steps_per_execution: int) -> float:
        """Trains so many steps, a multiple of those per execution; returns the seconds of one."""
        started = time.perf_counter()
        for _ in range(num_steps // steps_per_execution):
            self._built.step.run(self._iterator, steps_per_execution)
        return (time.perf_counter() - started) / num_steps

    def losses(self, num_steps: int) -> list[float]:
        """Trains so many steps and returns the loss of each."""
        reports = [self._built.step.run(self._iterator, 1) for _ in range(num_steps)]
        return [report.totals["loss"] / report.totals["weight"] for report in reports]


class TorchRun:
    """Trains the reference transformer with PyTorch, eagerly, in a process of its own."""

    def __init__(self, reference: Reference, *, python: pathlib.Path, folder: pathlib.Path):
        model = reference.model
        weights = OwnRun(reference, global_clipnorm=0.0).weights
        tokens, labels = reference.batches(NUM_BATCHES)
        sizes = {
            "width": model.width,
            "num_heads": model.num_heads,
            "num_layers": model.num_layers,
            "mlp_ratio": model.mlp_ratio,
            "vocabulary_size": reference.inputs.vocabulary_size,
            "max_tokens": reference.inputs.max_tokens,
            "num_classes": reference.num_classes,
            "num_weights": len(weights),
            "learning_rate": LEARNING_RATE,
            "weight_decay": WEIGHT_DECAY,
            "epsilon": keras.optimizers.AdamW().epsilon,
        }
        arrays = folder / "reference.npz"
        np.savez(
            arrays,
            sizes=json.dumps(sizes),
            tokens=tokens.reshape(NUM_BATCHES, reference.batch_size, -1),
            labels=labels.reshape(NUM_BATCHES, reference.batch_size),
            **{f"weight{index}": weight for index, weight in enumerate(weights)},
        )
        program = pathlib.Path(__file__).parent / "programs" / "torch_transformer.py"
        self._process = subprocess.Popen(
            [python, program, arrays],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        self.version: dict[str, Any] = self._answer()

    def step_secs(self, num_steps: int) -> float:
        """Trains so many steps and returns the seconds of one."""
        return self._ask(num_steps)["seconds"] / num_steps

    def losses(self, num_steps: int) -> list[float]:
        """Trains so many steps and returns the loss of each."""
        return self._ask(num_steps)["losses"]

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _ask(self, num_steps: int) -> dict[str, Any]:
        self._process.stdin.write(json.dumps({"steps": num_steps}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"PyTorch's process ended with {self._process.wait()}.")
        return json.loads(line)
