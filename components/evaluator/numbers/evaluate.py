"""Measures models of numbers on the test split, beside the simple forecast.

Axes: B batch, N examples, T steps of the past, C channels, H numbers of a target.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from components.evaluator import compare, outcome, saved_signature
from components.evaluator.config import NumberThresholds
from components.evaluator.numbers import bootstrap, judge, simple
from components.evaluator.numbers.errors import Errors
from components.ingest.features.config import SeriesFeature
from components.reference.answers import Answers

CANDIDATE, BASELINE = "candidate", "baseline"
_SIMPLE = "simple"
_QUANTILES = (0.1, 0.5, 0.9, 1.0)
_MAX_PAIRS = 1000


def evaluate(
    thresholds: NumberThresholds,
    series: SeriesFeature | None,
    *,
    model_dirs: Mapping[str, str],
    train_files: Sequence[str],
    test_files: Sequence[str],
    reference: Answers | None = None,
) -> outcome.NumbersOutcome:
    """Evaluates a model, and the latest blessed one if it answers the same question.

    Args:
        thresholds: What the model must reach.
        series: The recipe's series; None for the target of a table.
        model_dirs: `candidate`, and `baseline` if there is one -> folder of the SavedModel.
        train_files: Shards of the training split, for the simple forecast.
        test_files: Shards of the test split.
        reference: A simple learner's answers to it, for one number.

    Raises:
        ValueError: If the candidate predicts another number of numbers, the simple forecast is
            without error, so that nothing is left to learn, or the reference has other examples.
    """
    models = {
        name: saved_signature.SavedSignature(
            folder, signature_name="serve_examples", output_name="predictions"
        )
        for name, folder in model_dirs.items()
    }
    run = _Run(models, simple.make_simple(series, train_files), series)
    for serialized_B in simple.read_records(test_files):
        run.add(serialized_B)
    found = _outcome(run, thresholds, test_files)
    if reference is None:
        return found
    comparison = compare.compare_numbers(
        reference, targets_N=run.targets(), errors_N=run.errors[CANDIDATE].by_example
    )
    return dataclasses.replace(found, comparison=comparison)


class _Run:
    """Errors of the models and of the simple forecast, batch by batch."""

    def __init__(
        self,
        models: Mapping[str, saved_signature.SavedSignature],
        simple_forecast: simple.Simple,
        series: SeriesFeature | None,
    ):
        num_numbers = series.horizon_steps if series else 1
        self.series = series
        self.simple = simple_forecast
        self.models = dict(models)
        self.errors = {name: Errors(num_numbers) for name in (_SIMPLE, *models)}
        self._pairs: list[np.ndarray] = []

    def add(self, serialized_B: tf.Tensor) -> None:
        targets_BH, history_BTC = simple.parse(serialized_B, self.series)
        predictions_BH = self.models[CANDIDATE].predict(serialized_B)
        self.errors[CANDIDATE].add(predictions_BH, targets_BH)
        if BASELINE in self.models:
            self._add_baseline(serialized_B, targets_BH)
        simple_BH = self.simple.predict(history_BTC, num_rows=len(targets_BH))
        self.errors[_SIMPLE].add(simple_BH, targets_BH)
        if self.series is None:
            self._pairs.append(np.concatenate([targets_BH, predictions_BH], axis=1))

    def _add_baseline(self, serialized_B: tf.Tensor, targets_BH: np.ndarray) -> None:
        try:
            self.errors[BASELINE].add(self.models[BASELINE].predict(serialized_B), targets_BH)
        except (ValueError, tf.errors.InvalidArgumentError):
            # It forecasts another horizon or reads other columns: there is nothing to compare.
            del self.models[BASELINE], self.errors[BASELINE]

    def targets(self) -> np.ndarray:
        """Returns the one number of each example, (N,)."""
        return np.concatenate(self._pairs)[:, 0]

    def pairs(self) -> tuple[tuple[float, float], ...]:
        if not self._pairs:
            return ()
        pairs_N2 = np.concatenate(self._pairs)
        stride = -(-len(pairs_N2) // _MAX_PAIRS)
        return tuple((float(target), float(found)) for target, found in pairs_N2[::stride])


def _outcome(
    run: _Run, thresholds: NumberThresholds, test_files: Sequence[str]
) -> outcome.NumbersOutcome:
    candidate, simple_errors = run.errors[CANDIDATE], run.errors[_SIMPLE]
    baseline = run.errors.get(BASELINE)
    metrics = _metrics(candidate, simple_errors, run.simple)
    baseline_metrics = None if baseline is None else _metrics(baseline, simple_errors, run.simple)
    failures = judge.failures(thresholds, metrics, baseline_metrics)
    return outcome.NumbersOutcome(
        blessed=not failures,
        num_examples=candidate.num_examples,
        metrics=metrics,
        intervals=bootstrap.intervals(
            candidate.by_example, simple_errors.by_example, block_rows=_block_rows(run.series)
        ),
        simple_name=run.simple.name,
        simple_metrics={"mae": simple_errors.mae(), "rmse": simple_errors.rmse()},
        baseline_metrics=baseline_metrics,
        step_mae_H=candidate.mae_by_step(),
        simple_step_mae_H=simple_errors.mae_by_step(),
        samples=tuple(_samples(run, test_files)) if run.series else (),
        pairs=run.pairs(),
        failures=failures,
    )


def _metrics(errors: Errors, simple_errors: Errors, forecast: simple.Simple) -> dict[str, float]:
    simple_mae = simple_errors.mae()
    if simple_mae == 0.0:
        raise ValueError(
            f"On the test split {forecast.name} is always right, so that no model can be better. "
            f"Received: {simple_errors.num_examples} such examples. Look at the column that is "
            "predicted."
        )
    metrics = {"mae": errors.mae(), "rmse": errors.rmse(), "skill": 1.0 - errors.mae() / simple_mae}
    if forecast.mase_scale is not None:
        metrics["mase"] = errors.mae() / forecast.mase_scale
    return metrics


def _block_rows(series: SeriesFeature | None) -> int:
    """Returns how many neighbouring windows share steps or a period; rows of a table share none."""
    if series is None:
        return 1
    return -(-max(series.horizon_steps, series.period_steps) // series.stride_steps)


def _samples(run: _Run, test_files: Sequence[str]) -> Iterator[outcome.Sample]:
    """Reads the examples at some quantiles of the error once more, and predicts them."""
    order_N = np.argsort(run.errors[CANDIDATE].by_example, kind="stable")
    chosen = {
        int(order_N[round(quantile * (len(order_N) - 1))]): quantile for quantile in _QUANTILES
    }
    records = tf.data.TFRecordDataset(sorted(test_files)).enumerate()
    wanted = tf.constant(list(chosen), tf.int64)
    picked = records.filter(lambda index, _: tf.reduce_any(index == wanted))
    samples = {}
    for index, serialized in picked:
        serialized_1 = serialized[None]
        target_1H, history_1TC = simple.parse(serialized_1, run.series)
        assert history_1TC is not None
        quantile = chosen[int(index)]
        samples[quantile] = outcome.Sample(
            quantile=quantile,
            history_T=tuple(history_1TC[0, :, 0].tolist()),
            target_H=tuple(target_1H[0].tolist()),
            prediction_H=tuple(run.models[CANDIDATE].predict(serialized_1)[0].tolist()),
            simple_H=tuple(run.simple.predict(history_1TC, num_rows=1)[0].tolist()),
        )
    yield from (samples[quantile] for quantile in sorted(samples))
