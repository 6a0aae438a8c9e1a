"""The transform component: learns vocabularies, means and deviations of the training split."""

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.ingest import config
from components.transform import executor


class TransformSpec(component_spec.ComponentSpec):
    """The interface of `Transform`."""

    PARAMETERS = {
        "data": component_spec.ExecutionParameter(type=str),
        "split": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {"examples": component_spec.ChannelParameter(type=standard_artifacts.Examples)}
    # The type that TFX's Trainer takes; what lies in it is `transform.json` and no graph.
    OUTPUTS = {
        "transform_graph": component_spec.ChannelParameter(type=standard_artifacts.TransformGraph)
    }


class Transform(base_component.BaseComponent):
    """Learns what turns a recipe's raw values into model inputs, from one split alone."""

    SPEC_CLASS = TransformSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        data: config.DataConfig,
        split: str,
        fingerprint: str = "",
    ):
        super().__init__(
            spec=TransformSpec(
                examples=examples,
                data=json.dumps(data.to_dict()),
                split=split,
                fingerprint=fingerprint,
                transform_graph=types.Channel(type=standard_artifacts.TransformGraph),
            )
        )
