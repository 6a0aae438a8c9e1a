"""Adapts the report to TFX."""

import json
import posixpath
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.evaluator import outcome
from components.report import render

# The trainer's record of its epochs, within the ModelRun artifact.
HISTORY_FILE = "history.json"


class Executor(base_executor.BaseExecutor):
    """Writes the report."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes `report.html` into the `report` artifact."""
        class_counts = artifact_utils.get_single_instance(input_dict["class_counts"])
        class_counts.read()
        findings = artifact_utils.get_single_instance(input_dict["findings"])
        findings.read()
        history = _history(artifact_utils.get_single_uri(input_dict["model_run"]))
        page = render.render(
            json.loads(exec_properties["recipe"]),
            outcome.read(artifact_utils.get_single_uri(input_dict["evaluation"])),
            class_counts=class_counts.value,
            data_findings=findings.value["findings"],
            epochs=history["epochs"],
            how_trained=history["how"],
        )
        folder = artifact_utils.get_single_uri(output_dict["report"])
        with fileio.open(posixpath.join(folder, render.FILE_NAME), "w") as file:
            file.write(page)


def _history(model_run_uri: str) -> dict[str, Any]:
    with fileio.open(posixpath.join(model_run_uri, HISTORY_FILE)) as file:
        return dict(json.loads(file.read()))
