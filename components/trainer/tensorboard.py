"""The run as TensorBoard shows it: scalars, histograms of the weights, and the settings."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from components.trainer import logs, loop
from components.trainer import step as train_step


class TensorBoardLog:
    """Writes event files; a resumed run adds one beside the others.

    Args:
        directory: Folder of the event files.
        step: The train step, whose weights are shown.
        settings: What the run depends on, shown as text.
    """

    def __init__(
        self, directory: pathlib.Path, step: train_step.TrainStep, settings: Mapping[str, Any]
    ):
        self._step = step
        self._writer = tf.summary.create_file_writer(str(directory))
        text = json.dumps(settings, indent=1)
        with self._writer.as_default(step=0):
            # Four spaces make it code in Markdown.
            tf.summary.text("settings", "\n".join(f"    {line}" for line in text.splitlines()))

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Writes what the log's line holds, and the gradient norm of each variable."""
        line = logs.steps_line(report, seconds, scale=self._step.scale)
        with self._writer.as_default(step=global_step):
            for name, value in line.items():
                if value is not None:
                    tf.summary.scalar(f"train/{name}", value)
            for path, norm in report.gradient_norms.items():
                tf.summary.scalar(f"gradient_norm/{path}", norm)

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Writes the epoch's metrics, and norm and histogram of each weight."""
        with self._writer.as_default(step=record.global_step):
            for name, value in record.metrics().items():
                tf.summary.scalar(f"epoch/{name}", value)
            for variable in self._step.model.trainable_variables:
                values = keras.ops.convert_to_numpy(variable)
                tf.summary.scalar(f"weight_norm/{variable.path}", tf.norm(values))
                tf.summary.histogram(f"weights/{variable.path}", values)
        self._writer.flush()

    def close(self) -> None:
        """Closes the event file."""
        self._writer.close()
