"""Evaluates with TensorFlow Model Analysis in this process, without a Beam graph.

TFMA describes each metric as a combiner and computes it with Beam, whose graph takes seconds to
build and to run however few the examples are. Here the same combiners are fed one example after
another, each by the class it belongs to, and merged for the whole; TFMA's own code then checks the
thresholds and writes its files.

Legend: B batch, K classes, N examples.
"""

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.metrics import metric_specs, metric_types, metric_util
from tensorflow_model_analysis.proto import config_pb2
from tensorflow_model_analysis.utils import model_util

from components.evaluator import saved_signature, tfma_files

_ROWS_PER_BATCH = 512


class Labels(NamedTuple):
    """True and predicted labels of N examples, in the order of the sorted files."""

    true_N: np.ndarray
    predicted_N: np.ndarray


def evaluate(
    eval_config: tfma.EvalConfig,
    model_dirs: Mapping[str, str],
    example_files: Iterable[str],
    output_dir: str,
) -> Labels:
    """Evaluates models and writes what TFMA's `load_*` functions read.

    Args:
        eval_config: Complete, as after `update_eval_config_with_defaults`; its slices are all
            examples and the values of the label.
        model_dirs: Name in `eval_config.model_specs` -> folder of the SavedModel.
        example_files: TFRecord files of tf.Examples.
        output_dir: A local folder, which must exist.

    Returns:
        The labels and what the candidate took the examples for.
    """
    label_key = eval_config.model_specs[0].label_key
    fold = _Fold(eval_config)
    models = {
        spec.name: saved_signature.SavedSignature(
            model_dirs[spec.name],
            signature_name=spec.signature_name,
            output_name=spec.prediction_key,
        )
        for spec in eval_config.model_specs
    }
    candidate = _candidate(eval_config).name
    true, predicted = [], []
    for examples_B in _batches(example_files):
        labels_B = _labels(examples_B, label_key)
        predictions = {name: model.predict(examples_B) for name, model in models.items()}
        true.append(labels_B)
        predicted.append(predictions[candidate].argmax(1))
        for row, label in enumerate(labels_B):
            fold.add(int(label), {name: values[row] for name, values in predictions.items()})
    tfma_files.write(fold.results(label_key), eval_config, model_dirs, pathlib.Path(output_dir))
    return Labels(np.concatenate(true), np.concatenate(predicted))


def predict_labels(
    eval_config: tfma.EvalConfig, model_dir: str, example_files: Iterable[str]
) -> Labels:
    """Returns the labels and what a candidate that was evaluated elsewhere takes the examples for.

    Args:
        eval_config: As for `evaluate`.
        model_dir: Folder of the SavedModel.
        example_files: TFRecord files of tf.Examples.
    """
    spec = _candidate(eval_config)
    model = saved_signature.SavedSignature(
        model_dir, signature_name=spec.signature_name, output_name=spec.prediction_key
    )
    true, predicted = [], []
    for examples_B in _batches(example_files):
        true.append(_labels(examples_B, spec.label_key))
        predicted.append(model.predict(examples_B).argmax(1))
    return Labels(np.concatenate(true), np.concatenate(predicted))


def _candidate(eval_config: tfma.EvalConfig) -> config_pb2.ModelSpec:
    return next(spec for spec in eval_config.model_specs if not spec.is_baseline)


class _Fold:
    """The state of every metric, for each class."""

    def __init__(self, eval_config: tfma.EvalConfig):
        specs = list(eval_config.metrics_specs)
        # A derived metric brings copies of the computations that it needs.
        computations = dict.fromkeys(metric_specs.to_computations(specs, eval_config=eval_config))
        self._combined = _of_type(computations, metric_types.MetricComputation)
        self._derived = _of_type(computations, metric_types.DerivedMetricComputation)
        self._names = [spec.name for spec in eval_config.model_specs]
        baseline = model_util.get_baseline_model_spec(eval_config)
        self._baseline_name = baseline.name if baseline else None
        self._states: dict[int, list[Any]] = {}
        for computation in self._combined:
            computation.combiner.setup()

    def add(self, label: int, predictions: Mapping[str, np.ndarray]) -> None:
        """Adds one example: its label, and model name -> prediction (K,)."""
        states = self._states.get(label)
        if states is None:
            states = [computation.combiner.create_accumulator() for computation in self._combined]
        inputs = self._inputs(label, predictions)
        self._states[label] = [
            computation.combiner.add_input(state, inputs)
            for computation, state in zip(self._combined, states, strict=True)
        ]

    def results(self, label_key: str) -> dict[tfma_files.SliceKey, tfma_files.Metrics]:
        """Returns the metrics of each slice; call it once, after the last example."""
        by_slice: dict[tfma_files.SliceKey, tfma_files.Metrics] = {
            ((label_key, label),): self._metrics(states)
            for label, states in sorted(self._states.items())
        }
        merged = [
            computation.combiner.merge_accumulators(list(states))
            for computation, states in zip(
                self._combined, zip(*self._states.values(), strict=True), strict=True
            )
        ]
        return {(): self._metrics(merged), **by_slice}

    def _inputs(
        self, label: int, predictions: Mapping[str, np.ndarray]
    ) -> metric_types.StandardMetricInputs:
        labels_1 = np.array([label])
        if len(self._names) == 1:
            (prediction_K,) = predictions.values()
            extracts: dict[str, Any] = {
                tfma.LABELS_KEY: labels_1,
                tfma.PREDICTIONS_KEY: prediction_K,
            }
        else:
            extracts = {
                tfma.LABELS_KEY: dict.fromkeys(self._names, labels_1),
                tfma.PREDICTIONS_KEY: dict(predictions),
            }
        return metric_util.to_standard_metric_inputs(extracts)

    def _metrics(self, states: Iterable[Any]) -> tfma_files.Metrics:
        metrics: tfma_files.Metrics = {}
        for computation, state in zip(self._combined, states, strict=True):
            metrics.update(computation.combiner.extract_output(state))
        for computation in self._derived:
            metrics.update(computation.result(metrics))
        metrics |= self._differences(metrics)
        # TFMA's own intermediate results.
        return {key: value for key, value in metrics.items() if not key.name.startswith("_")}

    def _differences(self, metrics: tfma_files.Metrics) -> tfma_files.Metrics:
        """Returns candidate minus baseline for each metric that is a number."""
        if self._baseline_name is None:
            return {}
        differences = {}
        for key, value in metrics.items():
            baseline_key = key.make_baseline_key(self._baseline_name)
            is_number = isinstance(value, int | float | np.number | np.ndarray)
            if key.model_name != self._baseline_name and is_number and baseline_key in metrics:
                differences[key.make_diff_key()] = value - metrics[baseline_key]
        return differences


def _of_type(computations: Iterable[Any], kind: type) -> list[Any]:
    return [computation for computation in computations if isinstance(computation, kind)]


def _batches(files: Iterable[str]) -> Iterator[tf.Tensor]:
    yield from tf.data.TFRecordDataset(sorted(files)).batch(_ROWS_PER_BATCH).prefetch(1)


def _labels(examples_B: tf.Tensor, label_key: str) -> np.ndarray:
    features = {label_key: tf.io.FixedLenFeature((), tf.int64)}
    return tf.io.parse_example(examples_B, features)[label_key].numpy()
