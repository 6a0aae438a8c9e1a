"""The learning-rate range test (Smith 2015, https://arxiv.org/abs/1506.01186).

The rate grows with every step; the loss first stands still, then falls, then explodes.

Axes: S steps.
"""

import dataclasses
import math
import pathlib

import numpy as np

from components.trainer import metrics
from components.trainer import request as train_request
from components.trainer.diagnostics import setup

# Training is over when the smoothed loss is this many times the smallest one.
_EXPLODED = 4.0
# Share of the last smoothed value in the next.
_SMOOTHING = 0.9


@dataclasses.dataclass(frozen=True, kw_only=True)
class RangeResult:
    """What the test measured.

    Attributes:
        rates_S: Learning rate of each step.
        losses_S: Loss of each step's batch, before its update; not averaged.
        suggestion: A rate to use as the peak of a schedule.
    """

    rates_S: np.ndarray
    losses_S: np.ndarray
    suggestion: float


def range_test(
    request: train_request.TrainRequest,
    *,
    lowest: float = 1e-6,
    highest: float = 1.0,
    num_steps: int = 100,
) -> RangeResult:
    """Trains for a few steps with a growing rate.

    Args:
        request: What to train; its folder is not touched.
        lowest: First rate, > 0.
        highest: Last rate, above the first; the test ends earlier if the loss explodes.
        num_steps: Steps from the first to the last, >= 20.

    Raises:
        ValueError: If the range is empty or the steps are too few.
    """
    if not 0 < lowest < highest or num_steps < 20:
        raise ValueError(
            "The range test needs 0 < lowest < highest and at least 20 steps. "
            f"Received: lowest={lowest}, highest={highest}, num_steps={num_steps}."
        )
    training = setup.plain_training(request.training, learning_rate=lowest)
    bench = setup.make_bench(dataclasses.replace(request, training=training))
    batches = bench.batches()
    rates, losses = [], []
    for rate in np.geomspace(lowest, highest, num_steps):
        bench.built.rate.factor.assign(rate / lowest)
        losses.append(metrics.means(bench.built.step.run(batches, 1).totals)["loss"])
        rates.append(rate)
        if not math.isfinite(losses[-1]) or _has_exploded(losses):
            break
    rates_S, losses_S = np.array(rates), np.array(losses)
    return RangeResult(rates_S=rates_S, losses_S=losses_S, suggestion=suggest(rates_S, losses_S))


def suggest(rates_S: np.ndarray, losses_S: np.ndarray) -> float:
    """Suggests a peak rate: a tenth of the rate at which the smoothed loss is lowest.

    At the lowest loss itself training is about to explode; a decade below, the loss still falls
    fast.

    Args:
        rates_S: Growing rates.
        losses_S: Their losses.
    """
    return float(rates_S[int(np.argmin(smoothed(losses_S)))] / 10)


def smoothed(losses_S: np.ndarray) -> np.ndarray:
    """Returns the moving average of the finite losses, without its bias to the first value."""
    average, values = 0.0, []
    for count, loss in enumerate(losses_S[np.isfinite(losses_S)], start=1):
        average = _SMOOTHING * average + (1 - _SMOOTHING) * loss
        values.append(average / (1 - _SMOOTHING**count))
    return np.array(values)


def draw(result: RangeResult, path: pathlib.Path) -> None:
    """Draws loss against rate.

    Args:
        result: What the test measured.
        path: PNG file to write.
    """
    # Imported here, since it takes a second and only the picture needs it.
    from matplotlib import figure

    smooth_S = smoothed(result.losses_S)
    picture = figure.Figure(figsize=(7, 4), layout="constrained")
    axes = picture.add_subplot()
    axes.plot(result.rates_S, result.losses_S, color="#b0bec5", label="each step")
    axes.plot(result.rates_S[: len(smooth_S)], smooth_S, color="#1565c0", label="smoothed")
    axes.axvline(result.suggestion, color="#c62828", linestyle="--", label="suggestion")
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss")
    axes.set_ylim(0.0, 1.3 * float(np.nanmax(smooth_S)))
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=120)


def _has_exploded(losses: list[float]) -> bool:
    smooth_S = smoothed(np.array(losses))
    return len(smooth_S) > 10 and smooth_S[-1] > _EXPLODED * smooth_S.min()
