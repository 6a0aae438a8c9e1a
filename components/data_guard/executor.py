"""Adapts the data guard to TFX: reads the ingested examples, writes the findings."""

import json
import pathlib
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from components import progress
from components.data_guard import config, guard


class Executor(base_executor.BaseExecutor):
    """Stops the run for findings above their limits."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes the findings into the `findings` artifact.

        Raises:
            GateRefusedError: If one is above its limit and not accepted.
        """
        guard_config = config.DataGuardConfig.from_dict(json.loads(exec_properties["config"]))
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        findings = guard.find_all(pathlib.Path(examples.uri), guard_config)
        told = [
            {**finding.to_dict(), "accepted": guard_config.accept.get(finding.name, "")}
            for finding in findings
        ]
        # A run that is stopped here leaves no artifact that could tell of them.
        progress.report("data_findings", step=guard.STEP, findings=told)
        guard.check(findings, guard_config)
        progress.report("message", step=guard.STEP, text=guard.summary(findings))
        artifact_utils.get_single_instance(output_dict["findings"]).write({"findings": told})
