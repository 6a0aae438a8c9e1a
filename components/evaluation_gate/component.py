"""The evaluation gate component: stops the run when the model is not blessed."""

import json
from collections.abc import Sequence

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.evaluation_gate import executor


class EvaluationGateSpec(component_spec.ComponentSpec):
    """The interface of `EvaluationGate`."""

    PARAMETERS = {
        "class_names": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "evaluation": component_spec.ChannelParameter(type=standard_artifacts.ModelEvaluation),
        "blessing": component_spec.ChannelParameter(type=standard_artifacts.ModelBlessing),
    }
    OUTPUTS = {"metrics": component_spec.ChannelParameter(type=standard_artifacts.JsonValue)}


class EvaluationGate(base_component.BaseComponent):
    """Stops the run when the model is not blessed; its output is the metrics of a model that is."""

    SPEC_CLASS = EvaluationGateSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        evaluation: types.BaseChannel,
        blessing: types.BaseChannel,
        class_names: Sequence[str],
        fingerprint: str = "",
    ):
        super().__init__(
            spec=EvaluationGateSpec(
                evaluation=evaluation,
                blessing=blessing,
                class_names=json.dumps(list(class_names)),
                fingerprint=fingerprint,
                metrics=types.Channel(type=standard_artifacts.JsonValue),
            )
        )
