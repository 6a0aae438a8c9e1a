"""Writes evaluations as TensorFlow Model Analysis does, so that its tools read them.

Legend: H numbers of a target.
"""

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_model_analysis as tfma
from google.protobuf import json_format, message
from tensorflow_model_analysis.evaluators import metrics_validator
from tensorflow_model_analysis.metrics import metric_types
from tensorflow_model_analysis.proto import config_pb2, validation_result_pb2
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from components.evaluator.outcome import NumbersOutcome
from components.ingest.features.config import TARGET_FEATURE

Metrics = dict[metric_types.MetricKey, Any]
# As TFMA keys slices: () for all examples, (("label", 3),) for one class.
SliceKey = tuple[tuple[str, int], ...]

_STEP = "steps_ahead"
_VALIDATION_FILE = "validations.tfrecord"


def write_numbers(
    found: NumbersOutcome, model_dirs: Mapping[str, str], folder: pathlib.Path
) -> None:
    """Writes the evaluation of a model of numbers, which TFMA had no part in.

    TFMA has no skill against a forecast, no blocks of windows and no targets of several steps. The
    error of each step ahead is a slice.

    Args:
        found: The evaluation.
        model_dirs: `candidate`, and `baseline` if it was compared -> folder of the SavedModel.
        folder: A local folder, which must exist.
    """
    names = ["candidate", "baseline"] if found.baseline_metrics else [""]
    metrics: Metrics = {
        metric_types.MetricKey(name, model_name=names[0]): value
        for name, value in {**found.metrics, "example_count": float(found.num_examples)}.items()
    }
    for name, value in (found.baseline_metrics or {}).items():
        metrics[metric_types.MetricKey(name, model_name="baseline")] = value
        key = metric_types.MetricKey(name, model_name="candidate", is_diff=True)
        metrics[key] = found.metrics[name] - value
    results: dict[SliceKey, Metrics] = {(): metrics}
    if len(found.step_mae_H) > 1:
        for step, mae in enumerate(found.step_mae_H, start=1):
            key = metric_types.MetricKey("mae", model_name=names[0])
            results[((_STEP, step),)] = {key: mae}
    specs = [
        config_pb2.ModelSpec(
            name=name,
            signature_name="serve_examples",
            prediction_key="predictions",
            label_key=TARGET_FEATURE,
            is_baseline=name == "baseline",
        )
        for name in names
    ]
    eval_config = config_pb2.EvalConfig(model_specs=specs, slicing_specs=[config_pb2.SlicingSpec()])
    kept = {name or "candidate": model_dirs[name or "candidate"] for name in names}
    _write_slices(results, folder)
    _write_records(folder / _VALIDATION_FILE, [_verdict(found, names[0])])
    _write_config(eval_config, kept, folder)


def _verdict(found: NumbersOutcome, model_name: str) -> validation_result_pb2.ValidationResult:
    verdict = validation_result_pb2.ValidationResult(validation_ok=found.blessed)
    if found.failures:
        whole = verdict.metric_validations_per_slice.add()
        for failure in found.failures:
            key = metric_types.MetricKey(
                failure.metric, model_name=model_name, is_diff=failure.kind != "value"
            )
            told = whole.failures.add(message=f"{failure.kind}: the bound is {failure.bound:.6g}")
            told.metric_key.CopyFrom(key.to_proto())
            told.metric_value.double_value.value = failure.value
    return verdict


def write(
    results: Mapping[SliceKey, Metrics],
    eval_config: tfma.EvalConfig,
    model_dirs: Mapping[str, str],
    folder: pathlib.Path,
) -> None:
    """Checks the thresholds and writes what TFMA's `load_*` functions read.

    Args:
        results: The metrics of each slice.
        eval_config: Which thresholds there are.
        model_dirs: Model name -> folder of the SavedModel.
        folder: A local folder, which must exist.
    """
    validation = writer.CombineValidations(eval_config)
    found = validation.create_accumulator()
    for slice_key, values in _write_slices(results, folder).items():
        checked = metrics_validator.validate_metrics((slice_key, values), eval_config)
        found = validation.add_input(found, checked)
    _write_records(folder / _VALIDATION_FILE, [validation.extract_output(found)])
    _write_config(eval_config, model_dirs, folder)


def _write_slices(
    results: Mapping[SliceKey, Metrics], folder: pathlib.Path
) -> dict[SliceKey, Metrics]:
    """Writes metrics and plots; returns the metrics alone."""
    metrics, plots, alone = [], [], {}
    for slice_key, values in results.items():
        plots_only = {k: v for k, v in values.items() if isinstance(k, metric_types.PlotKey)}
        alone[slice_key] = {k: v for k, v in values.items() if k not in plots_only}
        metrics.append(writer.convert_slice_metrics_to_proto((slice_key, alone[slice_key]), []))
        plots.append(writer.convert_slice_plots_to_proto((slice_key, plots_only), []))
    _write_records(folder / "metrics-00000-of-00001.tfrecord", metrics)
    _write_records(folder / "plots-00000-of-00001.tfrecord", plots)
    return alone


def _write_config(
    eval_config: tfma.EvalConfig, model_dirs: Mapping[str, str], folder: pathlib.Path
) -> None:
    run = config_pb2.EvalRun(
        eval_config=eval_config, version=tfma.__version__, model_locations=dict(model_dirs)
    )
    (folder / "eval_config.json").write_text(json_format.MessageToJson(run))


def _write_records(path: pathlib.Path, records: Iterable[message.Message]) -> None:
    with tf.io.TFRecordWriter(str(path)) as file:
        for record in records:
            file.write(record.SerializeToString())
