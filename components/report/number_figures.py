"""Draws how well numbers are predicted, as SVG text.

Legend: T steps of the past, H numbers of a target.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib import axes as matplotlib_axes
from matplotlib import figure

from components.evaluator import outcome
from components.report import figures

# Earlier steps of a long past would leave the forecast too little room.
_HORIZONS_OF_PAST = 3


def forecasts(samples: Sequence[outcome.Sample], *, simple_name: str) -> str:
    """Draws forecasts against what came, one picture for each sample.

    Args:
        samples: Windows of a series, from small errors to large ones.
        simple_name: What the simple forecast is.
    """
    picture = figure.Figure(figsize=(10, 2.6 * len(samples)), layout="constrained")
    for position, sample in enumerate(samples, start=1):
        axes = picture.add_subplot(len(samples), 1, position)
        _draw_forecast(axes, sample, simple_name)
        axes.set_title(_title(sample), loc="left", fontsize=10)
        if position == 1:
            # Above the axes, where no line runs.
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=8)
    axes.set_xlabel("steps from the beginning of the forecast")
    return figures.svg(picture)


def _draw_forecast(axes: matplotlib_axes.Axes, sample: outcome.Sample, simple_name: str) -> None:
    horizon = len(sample.target_H)
    past = sample.history_T[-_HORIZONS_OF_PAST * horizon :]
    ahead_H = np.arange(horizon)
    # The truth is one line, past and future.
    axes.plot(
        np.arange(-len(past), horizon), [*past, *sample.target_H], color="black", label="truth"
    )
    axes.plot(ahead_H, sample.simple_H, color="tab:gray", ls="--", label=simple_name)
    axes.plot(ahead_H, sample.prediction_H, color="tab:blue", marker=".", label="model")
    axes.axvline(-0.5, color="lightgray", zorder=0)


def _title(sample: outcome.Sample) -> str:
    error = np.abs(np.subtract(sample.prediction_H, sample.target_H)).mean()
    if sample.quantile == 1.0:
        return f"The largest error of all: {error:.4g} on average"
    return f"Better than {1 - sample.quantile:.0%} of the test windows: {error:.4g} on average"


def errors_by_step(found: outcome.NumbersOutcome) -> str:
    """Draws the mean absolute error of each step ahead, beside the simple forecast's."""
    picture = figure.Figure(figsize=(7, 3), layout="constrained")
    axes = picture.add_subplot(xlabel="steps ahead", ylabel="mean absolute error")
    steps_H = np.arange(1, len(found.step_mae_H) + 1)
    axes.plot(steps_H, found.simple_step_mae_H, color="tab:gray", ls="--", label=found.simple_name)
    axes.plot(steps_H, found.step_mae_H, color="tab:blue", marker=".", label="model")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figures.svg(picture)


def predictions_against_truth(pairs: Sequence[tuple[float, float]]) -> str:
    """Draws each prediction over its target; on the diagonal they are equal.

    Args:
        pairs: (target, prediction).
    """
    picture = figure.Figure(figsize=(5, 5), layout="constrained")
    axes = picture.add_subplot(xlabel="truth", ylabel="prediction")
    targets, predictions = np.array(pairs).T
    axes.scatter(targets, predictions, s=8, alpha=0.4, linewidths=0)
    ends = [min(targets.min(), predictions.min()), max(targets.max(), predictions.max())]
    axes.plot(ends, ends, color="black", lw=1)
    axes.set_aspect("equal")
    return figures.svg(picture)
