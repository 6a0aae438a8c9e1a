"""The validation gate component: stops the run when the data has anomalies."""

import json
from collections.abc import Sequence

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.validation_gate import executor


class ValidationGateSpec(component_spec.ComponentSpec):
    """The interface of `ValidationGate`."""

    PARAMETERS = {
        "class_names": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "statistics": component_spec.ChannelParameter(type=standard_artifacts.ExampleStatistics),
        "anomalies": component_spec.ChannelParameter(type=standard_artifacts.ExampleAnomalies),
    }
    OUTPUTS = {"class_counts": component_spec.ChannelParameter(type=standard_artifacts.JsonValue)}


class ValidationGate(base_component.BaseComponent):
    """Stops the run when the data has anomalies; its output is the class counts of each split.

    Without classes it has none to count.
    """

    SPEC_CLASS = ValidationGateSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        statistics: types.BaseChannel,
        anomalies: types.BaseChannel,
        class_names: Sequence[str],
        fingerprint: str = "",
    ):
        super().__init__(
            spec=ValidationGateSpec(
                statistics=statistics,
                anomalies=anomalies,
                class_names=json.dumps(list(class_names)),
                fingerprint=fingerprint,
                class_counts=types.Channel(type=standard_artifacts.JsonValue),
            )
        )
