"""The data guard component: stops the run when a dataset would make its numbers lie."""

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.data_guard import config, executor


class DataGuardSpec(component_spec.ComponentSpec):
    """The interface of `DataGuard`."""

    PARAMETERS = {
        "config": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {"examples": component_spec.ChannelParameter(type=standard_artifacts.Examples)}
    OUTPUTS = {"findings": component_spec.ChannelParameter(type=standard_artifacts.JsonValue)}


class DataGuard(base_component.BaseComponent):
    """Looks for duplicates, leaks and shifts; its output is the list of findings."""

    SPEC_CLASS = DataGuardSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        guard_config: config.DataGuardConfig,
        fingerprint: str = "",
    ):
        super().__init__(
            spec=DataGuardSpec(
                examples=examples,
                config=json.dumps(guard_config.to_dict()),
                fingerprint=fingerprint,
                findings=types.Channel(type=standard_artifacts.JsonValue),
            )
        )
