"""The model check component: serves the exported model in a fresh process."""

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.ingest import config
from components.model_check import executor


class ModelCheckSpec(component_spec.ComponentSpec):
    """The interface of `ModelCheck`."""

    PARAMETERS = {
        "data": component_spec.ExecutionParameter(type=str),
        "split": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "examples": component_spec.ChannelParameter(type=standard_artifacts.Examples),
        "model": component_spec.ChannelParameter(type=standard_artifacts.Model),
    }
    OUTPUTS = {"blessing": component_spec.ChannelParameter(type=standard_artifacts.InfraBlessing)}


class ModelCheck(base_component.BaseComponent):
    """Stops the run unless the exported model, served in a fresh process, answers as Keras did."""

    SPEC_CLASS = ModelCheckSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        model: types.BaseChannel,
        data: config.DataConfig,
        split: str,
        fingerprint: str = "",
    ):
        super().__init__(
            spec=ModelCheckSpec(
                examples=examples,
                model=model,
                data=json.dumps(data.to_dict()),
                split=split,
                fingerprint=fingerprint,
                blessing=types.Channel(type=standard_artifacts.InfraBlessing),
            )
        )
