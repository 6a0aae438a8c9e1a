"""Compares the metrics of a model of numbers with the thresholds of its recipe."""

from collections.abc import Mapping
from typing import Literal

from components.evaluator.config import NumberThresholds
from components.evaluator.outcome import Failure


def failures(
    thresholds: NumberThresholds,
    metrics: Mapping[str, float],
    baseline_metrics: Mapping[str, float] | None,
) -> tuple[Failure, ...]:
    """Returns the thresholds that the model missed.

    Args:
        thresholds: What the model must reach.
        metrics: Its `mae` and `skill`.
        baseline_metrics: Those of the latest blessed model, or None if there is none.
    """
    found = []
    max_mae, min_skill = thresholds.max_mae, thresholds.min_skill
    # Not `>`: a NaN must not pass.
    if max_mae is not None and not metrics["mae"] <= max_mae:
        found.append(_failure("mae", "value", metrics["mae"], max_mae))
    if min_skill is not None and not metrics["skill"] >= min_skill:
        found.append(_failure("skill", "value", metrics["skill"], min_skill))
    if baseline_metrics is not None and baseline_metrics["mae"] > 0.0:
        rise = metrics["mae"] / baseline_metrics["mae"] - 1.0
        if not rise <= thresholds.max_mae_rise:
            found.append(_failure("mae", "change", rise, thresholds.max_mae_rise))
    return tuple(found)


def _failure(metric: str, kind: Literal["value", "change"], value: float, bound: float) -> Failure:
    return Failure(metric=metric, label=None, kind=kind, value=value, bound=bound)
