"""The ingest component: any source into an Examples artifact."""

import json

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.ingest import config, executor


class IngestSpec(component_spec.ComponentSpec):
    """The interface of `Ingest`."""

    PARAMETERS = {
        "data": component_spec.ExecutionParameter(type=str),
        "seed": component_spec.ExecutionParameter(type=int),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS: dict[str, component_spec.ChannelParameter] = {}
    OUTPUTS = {"examples": component_spec.ChannelParameter(type=standard_artifacts.Examples)}


class Ingest(base_beam_component.BaseBeamComponent):
    """Reads the source that a recipe names into sharded tf.Examples, split by split."""

    SPEC_CLASS = IngestSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(executor.Executor)

    def __init__(self, *, data: config.DataConfig, seed: int, fingerprint: str = ""):
        super().__init__(
            spec=IngestSpec(
                data=json.dumps(data.to_dict()),
                seed=seed,
                fingerprint=fingerprint,
                examples=types.Channel(type=standard_artifacts.Examples),
            )
        )
