"""The reference component: fits a simple learner and keeps its answers on the test split."""

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts
from tfx.types.experimental import simple_artifacts

from components.ingest import config
from components.reference import executor


class ReferenceSpec(component_spec.ComponentSpec):
    """The interface of `Reference`."""

    PARAMETERS = {
        "data": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "examples": component_spec.ChannelParameter(type=standard_artifacts.Examples),
        "transform_graph": component_spec.ChannelParameter(type=standard_artifacts.TransformGraph),
    }
    OUTPUTS = {"answers": component_spec.ChannelParameter(type=simple_artifacts.File)}


class Reference(base_component.BaseComponent):
    """Fits boosted trees to a table, or a linear model to words, and answers the test split."""

    SPEC_CLASS = ReferenceSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        transform_graph: types.BaseChannel,
        data: config.DataConfig,
        fingerprint: str = "",
    ):
        super().__init__(
            spec=ReferenceSpec(
                examples=examples,
                transform_graph=transform_graph,
                data=json.dumps(data.to_dict()),
                fingerprint=fingerprint,
                answers=types.Channel(type=simple_artifacts.File),
            )
        )
