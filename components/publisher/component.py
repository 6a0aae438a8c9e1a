"""The publisher component: puts a blessed model where servers look for it."""

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from components.publisher import executor


class PublisherSpec(component_spec.ComponentSpec):
    """The interface of `Publisher`."""

    PARAMETERS = {
        "published_dir": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        "model": component_spec.ChannelParameter(type=standard_artifacts.Model),
        "blessing": component_spec.ChannelParameter(type=standard_artifacts.ModelBlessing),
        "infra_blessing": component_spec.ChannelParameter(type=standard_artifacts.InfraBlessing),
    }
    OUTPUTS = {"published": component_spec.ChannelParameter(type=standard_artifacts.PushedModel)}


class Publisher(base_component.BaseComponent):
    """Publishes a model that the evaluator blessed and that the model check has served."""

    SPEC_CLASS = PublisherSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(executor.Executor)

    def __init__(
        self,
        *,
        model: types.BaseChannel,
        blessing: types.BaseChannel,
        infra_blessing: types.BaseChannel,
        published_dir: str,
        fingerprint: str = "",
    ):
        super().__init__(
            spec=PublisherSpec(
                model=model,
                blessing=blessing,
                infra_blessing=infra_blessing,
                published_dir=published_dir,
                fingerprint=fingerprint,
                published=types.Channel(type=standard_artifacts.PushedModel),
            )
        )
