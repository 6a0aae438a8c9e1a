"""Adapts the evaluation gate to TFX."""

import json
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components.evaluation_gate import gate
from components.evaluator import outcome


class Executor(base_executor.BaseExecutor):
    """Stops the run when the model is not blessed."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Checks the blessing and writes the metrics over all examples into the `metrics` artifact.

        Raises:
            GateRefusedError: If the model missed a threshold.
        """
        found = outcome.read(artifact_utils.get_single_uri(input_dict["evaluation"]))
        gate.check(found, tuple(json.loads(exec_properties["class_names"])))
        artifact_utils.get_single_instance(output_dict["metrics"]).write(found.metrics)
