"""Runs TFX's Evaluator and writes what it found as plain data beside TFMA's files.

Legend: K classes.
"""

import dataclasses
import json
import pathlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.proto import metrics_for_slice_pb2, validation_result_pb2
from tfx import types
from tfx.components.evaluator import constants
from tfx.components.evaluator import executor as evaluator
from tfx.types import artifact_utils
from tfx.utils import io_utils, json_utils, path_utils, proto_utils

from components.evaluator import compare, folded, outcome, tfma_files
from components.evaluator.config import NumberThresholds
from components.evaluator.numbers import evaluate as numbers
from components.ingest.features.config import SeriesFeature
from components.reference import answers

Metrics = dict[str, float]


class Executor(evaluator.Executor):
    """TFX's Evaluator, in this process unless a Beam runner is named; see `folded`.

    What it finds also lies in `outcome.json` in the `evaluation` artifact.
    """

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Evaluates, blesses or does not, and writes the outcome."""
        uri = artifact_utils.get_single_uri(output_dict["evaluation"])
        if exec_properties.get("numbers"):
            outcome.write(_evaluate_numbers(input_dict, output_dict, exec_properties), uri)
            return
        labels = None
        if any(argument.startswith("--runner") for argument in self._beam_pipeline_args):
            super().Do(input_dict, output_dict, exec_properties)
        else:
            labels = _evaluate_here(input_dict, output_dict, exec_properties)
        found = read_outcome(uri, has_baseline=bool(input_dict.get("baseline_model")))
        reference = _reference(input_dict)
        if reference is not None:
            labels = labels or _predict_labels(input_dict, exec_properties)
            comparison = compare.compare_classes(
                reference, labels_N=labels.true_N, predictions_N=labels.predicted_N
            )
            found = _judge(dataclasses.replace(found, comparison=comparison), exec_properties)
            if not found.blessed:
                _withdraw(artifact_utils.get_single_instance(output_dict["blessing"]))
        outcome.write(found, uri)


def _evaluate_here(
    input_dict: dict[str, list[types.Artifact]],
    output_dict: dict[str, list[types.Artifact]],
    exec_properties: dict[str, Any],
) -> folded.Labels:
    model = artifact_utils.get_single_instance(input_dict["model"])
    baselines = input_dict.get("baseline_model") or []
    eval_config = tfma.EvalConfig()
    proto_utils.json_to_proto(exec_properties["eval_config"], eval_config)
    # A threshold on the change against a baseline is left out where there is none.
    eval_config = tfma.utils.update_eval_config_with_defaults(
        eval_config, has_baseline=bool(baselines), rubber_stamp=True
    )
    tfma.utils.verify_eval_config(eval_config)
    model_dirs = {
        spec.name: path_utils.serving_model_path((baselines[0] if spec.is_baseline else model).uri)
        for spec in eval_config.model_specs
    }
    uri = artifact_utils.get_single_uri(output_dict["evaluation"])
    files = _test_files(input_dict, exec_properties)
    labels = folded.evaluate(eval_config, model_dirs, files, uri)
    blessing = artifact_utils.get_single_instance(output_dict["blessing"])
    _bless(blessing, model, baselines, is_good=tfma.load_validation_result(uri).validation_ok)
    return labels


def _predict_labels(
    input_dict: dict[str, list[types.Artifact]], exec_properties: dict[str, Any]
) -> folded.Labels:
    eval_config = tfma.EvalConfig()
    proto_utils.json_to_proto(exec_properties["eval_config"], eval_config)
    model_dir = path_utils.serving_model_path(artifact_utils.get_single_uri(input_dict["model"]))
    files = _test_files(input_dict, exec_properties)
    return folded.predict_labels(eval_config, model_dir, files)


def _reference(input_dict: dict[str, list[types.Artifact]]) -> answers.Answers | None:
    artifacts = input_dict.get("reference") or []
    return answers.read(pathlib.Path(artifacts[0].uri)) if artifacts else None


def _judge(found: compare.OutcomeT, exec_properties: dict[str, Any]) -> compare.OutcomeT:
    return compare.require(found) if exec_properties["reference_rule"] == "beat" else found


def _test_files(
    input_dict: dict[str, list[types.Artifact]], exec_properties: dict[str, Any]
) -> list[str]:
    (split,) = json_utils.loads(exec_properties["example_splits"])
    return _split_files(input_dict["examples"], split)


def _evaluate_numbers(
    input_dict: dict[str, list[types.Artifact]],
    output_dict: dict[str, list[types.Artifact]],
    exec_properties: dict[str, Any],
) -> outcome.NumbersOutcome:
    """Evaluates in this process, whatever the Beam runner: it adds up errors and keeps no row."""
    settings = json.loads(exec_properties["numbers"])
    series = settings["series"] and SeriesFeature.from_dict(settings["series"])
    model = artifact_utils.get_single_instance(input_dict["model"])
    baselines = input_dict.get("baseline_model") or []
    named = {numbers.CANDIDATE: model}
    if baselines:
        named[numbers.BASELINE] = baselines[0]
    model_dirs = {name: path_utils.serving_model_path(found.uri) for name, found in named.items()}
    found = numbers.evaluate(
        NumberThresholds.from_dict(settings["thresholds"]),
        series,
        model_dirs=model_dirs,
        train_files=_split_files(input_dict["examples"], "train"),
        test_files=_test_files(input_dict, exec_properties),
        reference=_reference(input_dict),
    )
    found = _judge(found, exec_properties)
    folder = artifact_utils.get_single_uri(output_dict["evaluation"])
    tfma_files.write_numbers(found, model_dirs, pathlib.Path(folder))
    blessing = artifact_utils.get_single_instance(output_dict["blessing"])
    _bless(blessing, model, baselines, is_good=found.blessed)
    return found


def _split_files(examples: list[types.Artifact], split: str) -> list[str]:
    uri = artifact_utils.get_split_uri(examples, split)
    files: list[str] = tf.io.gfile.glob(posixpath.join(uri, "*"))
    return files


def _bless(
    blessing: types.Artifact,
    model: types.Artifact,
    baselines: list[types.Artifact],
    *,
    is_good: bool,
) -> None:
    """Leaves the marks of TFX's Evaluator, by which its Resolver finds the latest blessed model."""
    named = [("current_model", model), *(("baseline_model", baseline) for baseline in baselines)]
    for name, artifact in named:
        blessing.set_string_custom_property(name, artifact.uri)
        blessing.set_int_custom_property(f"{name}_id", artifact.id)
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_BLESSED_KEY, int(is_good))
    file_name = constants.BLESSED_FILE_NAME if is_good else constants.NOT_BLESSED_FILE_NAME
    io_utils.write_string_file(posixpath.join(blessing.uri, file_name), "")


def _withdraw(blessing: types.Artifact) -> None:
    """Takes a blessing back, if there was one."""
    mark = posixpath.join(blessing.uri, constants.BLESSED_FILE_NAME)
    if tf.io.gfile.exists(mark):
        tf.io.gfile.remove(mark)
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_BLESSED_KEY, 0)
    io_utils.write_string_file(posixpath.join(blessing.uri, constants.NOT_BLESSED_FILE_NAME), "")


def read_outcome(uri: str, *, has_baseline: bool) -> outcome.EvaluationOutcome:
    """Reads TFMA's files.

    Args:
        uri: Folder that TFMA wrote to.
        has_baseline: True if a baseline model was evaluated too.
    """
    model_name = "candidate" if has_baseline else ""
    overall, by_class = _metrics(uri, model_name)
    baseline = _metrics(uri, "baseline")[0] if has_baseline else None
    validation = tfma.load_validation_result(uri)
    labels = sorted(by_class)
    return outcome.EvaluationOutcome(
        blessed=validation.validation_ok,
        num_examples=int(overall["example_count"]),
        metrics=_without_count(overall),
        baseline_metrics=None if baseline is None else _without_count(baseline),
        class_accuracy=tuple(by_class[label]["accuracy"] for label in labels),
        class_num_examples=tuple(int(by_class[label]["example_count"]) for label in labels),
        confusion_KK=_confusion(uri, model_name, len(labels)),
        failures=tuple(sorted(_failures(validation), key=_order)),
    )


def _metrics(uri: str, model_name: str) -> tuple[Metrics, dict[int, Metrics]]:
    result = tfma.load_eval_result(uri, model_name=model_name or None)
    by_slice = {
        slice_key: {name: value["doubleValue"] for name, value in outputs[""][""].items()}
        for slice_key, outputs in result.slicing_metrics
    }
    overall = by_slice.pop(())
    return overall, {slice_key[0][1]: metrics for slice_key, metrics in by_slice.items()}


def _without_count(metrics: Mapping[str, float]) -> Metrics:
    return {name: metrics[name] for name in ("accuracy", "loss")}


def _confusion(uri: str, model_name: str, num_classes: int) -> tuple[tuple[int, ...], ...]:
    matrix_KK = [[0] * num_classes for _ in range(num_classes)]
    for in_slice in tfma.load_plots(uri):
        if in_slice.slice_key.single_slice_keys:
            continue
        for item in in_slice.plot_keys_and_values:
            if item.key.model_name == model_name:
                for entry in _confusion_entries(item.value):
                    num_examples = round(entry.num_weighted_examples)
                    matrix_KK[entry.actual_class_id][entry.predicted_class_id] = num_examples
    return tuple(tuple(row_K) for row_K in matrix_KK)


def _confusion_entries(plot: metrics_for_slice_pb2.PlotData) -> Iterator[Any]:
    for matrix in plot.multi_class_confusion_matrix_at_thresholds.matrices:
        yield from matrix.entries


def _failures(validation: validation_result_pb2.ValidationResult) -> Iterator[outcome.Failure]:
    for in_slice in validation.metric_validations_per_slice:
        keys = in_slice.slice_key.single_slice_keys
        for failure in in_slice.failures:
            is_change = failure.metric_key.is_diff
            threshold = failure.metric_threshold
            yield outcome.Failure(
                metric=failure.metric_key.name,
                label=keys[0].int64_value if keys else None,
                kind="change" if is_change else "value",
                value=failure.metric_value.double_value.value,
                bound=(
                    threshold.change_threshold.absolute.value
                    if is_change
                    else threshold.value_threshold.lower_bound.value
                ),
            )


def _order(failure: outcome.Failure) -> tuple[int, float]:
    label = -1 if failure.label is None else failure.label
    return label, failure.value
