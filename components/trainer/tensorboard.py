"""The run as TensorBoard shows it: scalars, histograms of the weights, settings and the graph.

Events are made with NumPy and written by a thread: the same through `tf.summary` took half the time
of a small network's epoch.
"""

import json
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.histogram import summary_v2 as histograms
from tensorboard.plugins.scalar import summary_v2 as scalars
from tensorboard.plugins.text import summary_v2 as texts
from tensorboard.summary.writer import event_file_writer

from components.trainer import float8, logs, loop
from components.trainer import step as train_step


class TensorBoardLog:
    """Writes event files; a resumed run adds one that replaces what came after its first step.

    Args:
        directory: Folder of the event files.
        step: The train step, whose weights are shown.
        settings: What the run depends on, shown as text.
        start_step: Global step at which the run begins or goes on, >= 0.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        step: train_step.TrainStep,
        settings: Mapping[str, Any],
        *,
        start_step: int = 0,
    ):
        self._step = step
        self._writer = event_file_writer.EventFileWriter(str(directory))
        started = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._add(start_step, session_log=started)
        # Four spaces make it code in Markdown.
        lines = [f"    {line}" for line in json.dumps(settings, indent=1).splitlines()]
        self._add_summaries(start_step, [texts.text_pb("settings", "\n".join(lines))])
        self._add(start_step, graph_def=_graph_def(step.model))

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Writes what the log's line holds, and the gradient norm of each variable."""
        line = logs.steps_line(report, seconds, scale=self._step.scale)
        values = {f"train/{name}": value for name, value in line.items() if value is not None}
        norms = report.gradient_norms
        values.update({f"gradient_norm/{path}": norm for path, norm in norms.items()})
        self._add_summaries(
            global_step, [scalars.scalar_pb(tag, value) for tag, value in values.items()]
        )

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Writes the epoch's metrics, and norm and histogram of each weight."""
        summaries = [
            scalars.scalar_pb(f"epoch/{name}", value) for name, value in record.metrics.items()
        ]
        for variable in float8.learned_variables(self._step.model):
            values = keras.ops.convert_to_numpy(variable)
            norm = float(np.linalg.norm(values))
            summaries.append(scalars.scalar_pb(f"weight_norm/{variable.path}", norm))
            summaries.append(histograms.histogram_pb(f"weights/{variable.path}", values))
        self._add_summaries(record.global_step, summaries)

    def close(self, *, has_finished: bool) -> None:
        """Waits until all is written, and closes the file; it does not say how the run ended."""
        self._writer.close()

    def _add_summaries(self, step: int, summaries: Sequence[summary_pb2.Summary]) -> None:
        joined = summary_pb2.Summary()
        for summary in summaries:
            joined.MergeFrom(summary)
        self._add(step, summary=joined)

    def _add(self, step: int, **what: Any) -> None:
        self._writer.add_event(event_pb2.Event(wall_time=time.time(), step=step, **what))


def _graph_def(model: keras.Model) -> bytes:
    spec = keras.tree.map_structure(
        lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype), model.input
    )
    forward = tf.function(lambda inputs: model(inputs, training=False))
    return bytes(forward.get_concrete_function(spec).graph.as_graph_def().SerializeToString())
