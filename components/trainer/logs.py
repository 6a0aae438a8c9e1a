"""The record of a run: JSON lines that a resume continues without gap or repeat, and progress.

`log.jsonl` has a line for each return to Python (`"event": "steps"`) and for each epoch
(`"epoch"`).
"""

import json
import math
import os
import pathlib
from typing import Any

from components import progress
from components.trainer import loop, loss_scale, metrics
from components.trainer import step as train_step


def message(text: str) -> None:
    """Tells whoever watches the run something that is not a number."""
    progress.report("message", step="trainer", text=text)


class JsonLog:
    """Appends events to a file of JSON lines.

    Args:
        path: The file; made with its folder.
        scale: Loss scaling, if there is any, whose factor is logged.
    """

    def __init__(self, path: pathlib.Path, *, scale: loss_scale.DynamicLossScale | None = None):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (open as long as the run)
        self._scale = scale
        self._last_norms: dict[str, float] = {}

    @property
    def offset(self) -> int:
        """Bytes written so far, for a checkpoint."""
        self._file.flush()
        return self._file.tell()

    def truncate(self, offset: int) -> None:
        """Forgets what was logged after a checkpoint, since a resume does it again."""
        self._file.flush()
        os.truncate(self._file.fileno(), offset)
        self._file.seek(offset)

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Logs the metrics, rate, gradient norm, loss scale, rows per second and input wait."""
        self._write("steps", step=global_step, **steps_line(report, seconds, scale=self._scale))
        self._last_norms = report.gradient_norms

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Logs the record, and the gradient norm of each variable in the epoch's last step."""
        self._write("epoch", **record.flat(), gradient_norms=self._last_norms)
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, event: str, **fields: Any) -> None:
        self._file.write(json.dumps({"event": event, **fields}) + "\n")


def steps_line(
    report: train_step.StepsReport, seconds: float, *, scale: loss_scale.DynamicLossScale | None
) -> dict[str, float | None]:
    """Returns what is logged about some steps.

    Args:
        report: What the steps did.
        seconds: How long they took.
        scale: Loss scaling, if there is any.
    """
    return {
        **metrics.means(report.totals),
        "learning_rate": report.learning_rate,
        "gradient_norm": math.hypot(*report.gradient_norms.values()),
        "loss_scale": None if scale is None else float(scale.scale),
        "rows_per_sec": report.totals["weight"] / max(seconds, 1e-9),
        "wait_share": report.wait_secs / max(seconds, 1e-9),
    }


class ProgressReport:
    """Tells whoever watches the run about each epoch.

    Args:
        num_epochs: Epochs of the whole run.
    """

    def __init__(self, num_epochs: int):
        self._num_epochs = num_epochs

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Says nothing: an epoch is often enough."""

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Sends the event `epoch`."""
        progress.report(
            "epoch",
            step="trainer",
            epoch=record.epoch,
            num_epochs=self._num_epochs,
            seconds=record.seconds,
            metrics={
                **record.metrics,
                "learning_rate": record.learning_rate,
                "rows_per_sec": record.rows_per_sec,
            },
        )
