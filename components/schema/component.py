"""The schema component: writes the curated schema of a recipe."""

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.ingest import config
from components.schema import executor


class SchemaSpec(component_spec.ComponentSpec):
    """The interface of `CuratedSchema`."""

    PARAMETERS = {
        "data": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS: dict[str, component_spec.ChannelParameter] = {}
    OUTPUTS = {"schema": component_spec.ChannelParameter(type=standard_artifacts.Schema)}


class CuratedSchema(base_component.BaseComponent):
    """Writes the schema that a recipe's examples must meet."""

    SPEC_CLASS = SchemaSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(self, *, data: config.DataConfig, fingerprint: str = ""):
        super().__init__(
            spec=SchemaSpec(
                data=json.dumps(data.to_dict()),
                fingerprint=fingerprint,
                schema=types.Channel(type=standard_artifacts.Schema),
            )
        )
