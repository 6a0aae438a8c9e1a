"""The training loop: epochs of steps, validation after each, and a record of both."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from components import progress
from components.trainer import step as train_step


class TrainingDivergedError(RuntimeError):
    """Training met non-finite numbers from which it cannot recover."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """What one epoch did.

    Attributes:
        epoch: Counted from 1.
        global_step: Steps since the beginning of the run.
        loss: Mean training loss over the epoch, while the weights changed.
        accuracy: Training accuracy, likewise.
        val_loss: Loss on the validation split after the epoch.
        val_accuracy: Accuracy on the validation split after the epoch.
        learning_rate: Rate of the epoch's last step.
        rows_per_sec: Training examples per second, validation apart.
        seconds: Duration of the epoch, validation included.
    """

    epoch: int
    global_step: int
    loss: float
    accuracy: float
    val_loss: float
    val_accuracy: float
    learning_rate: float
    rows_per_sec: float
    seconds: float


def fit(
    step: train_step.TrainStep,
    batches: Iterator[Any],
    evaluate: Callable[[], dict[str, float]],
    *,
    num_epochs: int,
    steps_per_epoch: int,
    steps_per_execution: int,
) -> list[EpochRecord]:
    """Trains for whole epochs.

    Args:
        step: The train step.
        batches: Endless iterator of training batches.
        evaluate: Measures the model on the validation split.
        num_epochs: Epochs, > 0.
        steps_per_epoch: Steps, > 0.
        steps_per_execution: Steps between two returns to Python, > 0.

    Returns:
        One record for each epoch.

    Raises:
        TrainingDivergedError: If the loss or a weight is not finite.
    """
    records = []
    for epoch in range(1, num_epochs + 1):
        started = time.monotonic()
        means = _run_epoch(step, batches, steps_per_epoch, steps_per_execution)
        rows_per_sec = means.pop("rows") / (time.monotonic() - started)
        check_finite_weights(step.model)
        measured = evaluate()
        record = EpochRecord(
            epoch=epoch,
            global_step=epoch * steps_per_epoch,
            **means,
            val_loss=measured["loss"],
            val_accuracy=measured["accuracy"],
            rows_per_sec=rows_per_sec,
            seconds=time.monotonic() - started,
        )
        records.append(record)
        _report(record, num_epochs)
    return records


def check_finite_weights(model: keras.Model) -> None:
    """Looks at every weight, because a ReLU can hide NaN weights behind a finite loss.

    Raises:
        TrainingDivergedError: If a weight is not finite; the message names it.
    """
    for variable in model.weights:
        values = keras.ops.convert_to_numpy(variable)
        if not np.isfinite(values).all():
            raise TrainingDivergedError(
                f"Training diverged: the weight {variable.path} holds non-finite values. "
                "Lower `training.optimizer.learning_rate`, or set "
                "`training.optimizer.global_clipnorm`."
            )


def _run_epoch(
    step: train_step.TrainStep, batches: Iterator[Any], num_steps: int, steps_per_execution: int
) -> dict[str, float]:
    sums = {"loss": 0.0, "correct": 0.0, "weight": 0.0}
    for done in range(0, num_steps, steps_per_execution):
        totals = step.run(batches, min(steps_per_execution, num_steps - done))
        sums = {name: sums[name] + totals[name] for name in sums}
        if not math.isfinite(sums["loss"]) and step.scale is None:
            raise TrainingDivergedError(
                f"Training diverged: the loss is {totals['loss']} by step "
                f"{step.global_step.numpy()}. "
                "Lower `training.optimizer.learning_rate`, or set "
                "`training.optimizer.global_clipnorm`."
            )
    means = train_step.means(sums)
    return {**means, "rows": sums["weight"], "learning_rate": totals["learning_rate"]}


def _report(record: EpochRecord, num_epochs: int) -> None:
    metrics = ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "rows_per_sec")
    values = dataclasses.asdict(record)
    progress.report(
        "epoch",
        step="trainer",
        epoch=record.epoch,
        num_epochs=num_epochs,
        seconds=record.seconds,
        metrics={name: values[name] for name in metrics},
    )
