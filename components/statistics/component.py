"""The statistics component: TFX's StatisticsGen, in one process unless a Beam runner is named."""

from tensorflow_data_validation.statistics import stats_options
from tfx import types
from tfx.components.statistics_gen import component as statistics_gen
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import component_spec, standard_artifacts, standard_component_specs
from tfx.utils import json_utils

from components.statistics import executor


class StatisticsSpec(standard_component_specs.StatisticsGenSpec):
    """The interface of TFX's StatisticsGen and a fingerprint."""

    PARAMETERS = {
        **standard_component_specs.StatisticsGenSpec.PARAMETERS,
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }


class StatisticsGen(statistics_gen.StatisticsGen):
    """Computes the statistics of the features that the schema names, for each split."""

    SPEC_CLASS = StatisticsSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        schema: types.BaseChannel,
        num_classes: int,
        fingerprint: str = "",
    ):
        # The validation gate reads the count of every class from the rank histogram.
        options = stats_options.StatsOptions(num_rank_histogram_buckets=max(1000, num_classes))
        spec = StatisticsSpec(
            examples=examples,
            schema=schema,
            stats_options_json=options.to_json(),
            exclude_splits=json_utils.dumps([]),
            statistics=types.Channel(type=standard_artifacts.ExampleStatistics),
            fingerprint=fingerprint,
        )
        # TFX's own constructor has no place for the fingerprint.
        base_beam_component.BaseBeamComponent.__init__(self, spec=spec)
