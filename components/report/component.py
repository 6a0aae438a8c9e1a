"""The report component: one HTML page about a model."""

import json
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts
from tfx.types.experimental import simple_artifacts

from components.report import executor


class ReportSpec(component_spec.ComponentSpec):
    """The interface of `Report`."""

    PARAMETERS = {
        "recipe": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "class_counts": component_spec.ChannelParameter(type=standard_artifacts.JsonValue),
        "findings": component_spec.ChannelParameter(type=standard_artifacts.JsonValue),
        "model_run": component_spec.ChannelParameter(type=standard_artifacts.ModelRun),
        "evaluation": component_spec.ChannelParameter(type=standard_artifacts.ModelEvaluation),
    }
    OUTPUTS = {"report": component_spec.ChannelParameter(type=simple_artifacts.File)}


class Report(base_component.BaseComponent):
    """Writes how a model learned, what it gets right, and what it takes for what."""

    SPEC_CLASS = ReportSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        class_counts: types.BaseChannel,
        findings: types.BaseChannel,
        model_run: types.BaseChannel,
        evaluation: types.BaseChannel,
        recipe: dict[str, Any],
        fingerprint: str = "",
    ):
        super().__init__(
            spec=ReportSpec(
                class_counts=class_counts,
                findings=findings,
                model_run=model_run,
                evaluation=evaluation,
                recipe=json.dumps(recipe),
                fingerprint=fingerprint,
                report=types.Channel(type=simple_artifacts.File),
            )
        )
