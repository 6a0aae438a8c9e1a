"""Gradient health: what looks wrong in a run, with the layer's name and what to try."""

import math

import keras
import numpy as np

from components.trainer import logs, loop
from components.trainer import step as train_step

# A layer whose gradient is this much smaller than the largest one hardly learns.
_VANISHING_RATIO = 1e-7
_EXPLODING_NORM = 1e4
_DEAD_SHARE = 0.5
_CURE = "Lower `training.optimizer.learning_rate`, or set `training.optimizer.global_clipnorm`."


class TrainingDivergedError(RuntimeError):
    """Training met non-finite numbers from which it cannot recover."""


class HealthCheck:
    """Stops a run that has diverged, and reports each other finding once.

    Args:
        step: The train step. Where it scales the loss, a non-finite step is skipped and not an end.
        last_checkpoint: Says where the last good checkpoint is; empty if there is none.
    """

    def __init__(self, step: train_step.TrainStep, *, last_checkpoint: str = ""):
        self._step = step
        self._last_checkpoint = last_checkpoint
        self._last_norms: dict[str, float] = {}
        self._last_dead: dict[str, float] = {}
        self._reported: set[str] = set()

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Looks at the loss.

        Raises:
            TrainingDivergedError: If it is not finite, unless the loss scale has skipped the step.
        """
        self._last_norms = report.gradient_norms
        self._last_dead = report.dead_shares
        if self._step.num_traces > 1:
            self._say_once(
                "The train step was traced again, which takes seconds each time: the batches have "
                "changed their shape or type. Give every batch the same."
            )
        loss = report.totals["loss"]
        if not math.isfinite(loss) and self._step.scale is None:
            raise TrainingDivergedError(
                f"Training diverged: the loss is {loss} by step {global_step}. {_CURE}"
                f"{self._last_checkpoint}"
            )

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Looks at every weight and gradient, because a ReLU can hide NaN behind a finite loss.

        Raises:
            TrainingDivergedError: If a weight is not finite; the message names it.
        """
        path = non_finite_weight(self._step.model)
        if path:
            raise TrainingDivergedError(
                f"Training diverged: by step {record.global_step} the weight {path} holds "
                f"non-finite values. {_CURE}{self._last_checkpoint}"
            )
        # A residual block starts as the identity, and nothing in it has a gradient before that.
        if record.global_step > 1:
            for finding in findings(self._last_norms, self._last_dead):
                self._say_once(finding)

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            logs.message(sentence)


def non_finite_weight(model: keras.Model) -> str:
    """Returns the path of the first weight that is not finite, or an empty text."""
    for variable in model.weights:
        if not np.isfinite(keras.ops.convert_to_numpy(variable)).all():
            return variable.path
    return ""


def findings(gradient_norms: dict[str, float], dead_shares: dict[str, float]) -> list[str]:
    """Says what looks wrong in one step's gradients.

    Args:
        gradient_norms: Path of a variable -> norm of its gradient.
        dead_shares: Path -> share of its output units without any gradient.

    Returns:
        A sentence for each finding, with the layer's name and what to try.

    >>> findings({"a/kernel": 1e-12, "b/kernel": 1.0}, {})[0][:44]
    'The gradient of a/kernel has all but vanishe'
    """
    sentences = []
    largest = max(gradient_norms.values(), default=0.0)
    for path, norm in gradient_norms.items():
        if path in dead_shares and dead_shares[path] >= _DEAD_SHARE:
            sentences.append(
                f"{dead_shares[path]:.0%} of the units of {path} have no gradient: they are dead. "
                "Lower the learning rate, or use an activation without a flat side, such as gelu."
            )
        elif norm < largest * _VANISHING_RATIO:
            sentences.append(
                f"The gradient of {path} has all but vanished, so that it does not learn. "
                "Add normalisation or residual connections before it, or use fewer layers."
            )
        if norm > _EXPLODING_NORM:
            sentences.append(f"The gradient of {path} is exploding. {_CURE}")
    return sentences
