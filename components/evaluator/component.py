"""The evaluator component: TFX's Evaluator with the thresholds of a recipe."""

import json

import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.proto import config_pb2
from tfx import types
from tfx.components.evaluator import component as evaluator
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import component_spec, standard_artifacts, standard_component_specs
from tfx.types.experimental import simple_artifacts
from tfx.utils import json_utils

from components.evaluator import config, executor
from components.ingest.features import config as features_config

# Rounding in a metric's float32 sum must not turn an equal value into a missed threshold.
_TOLERANCE = 1e-6


class EvaluatorSpec(standard_component_specs.EvaluatorSpec):
    """The interface of TFX's Evaluator, a reference, how numbers are judged, and a fingerprint."""

    PARAMETERS = {
        **standard_component_specs.EvaluatorSpec.PARAMETERS,
        "numbers": component_spec.ExecutionParameter(type=str, optional=True),
        "reference_rule": component_spec.ExecutionParameter(type=str),
        "fingerprint": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {
        **standard_component_specs.EvaluatorSpec.INPUTS,
        "reference": component_spec.ChannelParameter(type=simple_artifacts.File, optional=True),
    }


class Evaluator(evaluator.Evaluator):
    """Measures a model on one split and blesses it if it is good enough.

    Classes are measured by TFMA, overall and one by one, by `eval_config`; numbers beside the
    simple forecast, by `numbers`, from `numbers_settings`.
    """

    SPEC_CLASS = EvaluatorSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(executor.Executor)

    def __init__(
        self,
        *,
        examples: types.BaseChannel,
        model: types.BaseChannel,
        baseline_model: types.BaseChannel,
        eval_config: tfma.EvalConfig | None = None,
        numbers: str | None = None,
        split: str,
        reference: types.BaseChannel | None = None,
        reference_rule: config.ReferenceRule = "report",
        fingerprint: str = "",
    ):
        spec = EvaluatorSpec(
            examples=examples,
            model=model,
            baseline_model=baseline_model,
            eval_config=eval_config,
            numbers=numbers,
            reference=reference,
            reference_rule=reference_rule,
            example_splits=json_utils.dumps([split]),
            fairness_indicator_thresholds=json_utils.dumps(None),
            evaluation=types.Channel(type=standard_artifacts.ModelEvaluation),
            blessing=types.Channel(type=standard_artifacts.ModelBlessing),
            fingerprint=fingerprint,
        )
        # TFX's own constructor has no place for the fingerprint.
        base_beam_component.BaseBeamComponent.__init__(self, spec=spec)


def numbers_settings(
    thresholds: config.NumberThresholds, series: features_config.SeriesFeature | None
) -> str:
    """Turns a recipe's thresholds of numbers into the component's parameter `numbers`.

    Args:
        thresholds: The thresholds.
        series: The recipe's series; None for the target of a table.
    """
    return json.dumps(
        {"thresholds": thresholds.to_dict(), "series": series and series.to_dict()}, sort_keys=True
    )


def make_eval_config(thresholds: config.ClassThresholds, *, label_name: str) -> tfma.EvalConfig:
    """Turns a recipe's thresholds into TFMA's config.

    Args:
        thresholds: The thresholds.
        label_name: Feature of the examples that holds the label; each of its values is a slice.
    """
    overall, per_class = config_pb2.SlicingSpec(), config_pb2.SlicingSpec(feature_keys=[label_name])
    overall_threshold = _at_least(thresholds.min_accuracy)
    overall_threshold.change_threshold.direction = config_pb2.HIGHER_IS_BETTER
    overall_threshold.change_threshold.absolute.value = -thresholds.max_accuracy_drop - _TOLERANCE
    accuracy = config_pb2.MetricConfig(
        class_name="SparseCategoricalAccuracy",
        config='"name": "accuracy"',
        per_slice_thresholds=[
            config_pb2.PerSliceMetricThreshold(
                slicing_specs=[overall], threshold=overall_threshold
            ),
            config_pb2.PerSliceMetricThreshold(
                slicing_specs=[per_class], threshold=_at_least(thresholds.min_class_accuracy)
            ),
        ],
    )
    others = [
        config_pb2.MetricConfig(
            class_name="SparseCategoricalCrossentropy", config='"name": "loss"'
        ),
        config_pb2.MetricConfig(class_name="ExampleCount"),
        config_pb2.MetricConfig(class_name="MultiClassConfusionMatrixPlot"),
    ]
    return config_pb2.EvalConfig(
        model_specs=[
            config_pb2.ModelSpec(
                signature_name="serve_examples",
                prediction_key="probabilities",
                label_key=label_name,
            )
        ],
        slicing_specs=[overall, per_class],
        metrics_specs=[config_pb2.MetricsSpec(metrics=[accuracy, *others])],
    )


def _at_least(bound: float) -> config_pb2.MetricThreshold:
    threshold = config_pb2.MetricThreshold()
    threshold.value_threshold.lower_bound.value = bound - _TOLERANCE
    return threshold
