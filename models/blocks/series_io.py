"""The two ends of every forecaster: a window of the past in, its future out.

Axes: B batch, T steps of the past, C channels (the value first, then covariates), H steps ahead.
"""

import dataclasses
from typing import Any

import keras

from models.blocks import heads

# A KerasTensor while a Functional model is built; Keras publishes no narrower type for it.
Tensor = Any
# A window that hardly moves is divided by this share of the target's deviation, not by almost 0.
_SMALLEST_SHARE = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window:
    """The past of a series, in its own unit and in that of its own mean and deviation.

    Attributes:
        history_BTC: The model's input, `history`.
        standardised_BTC: Every channel less its mean over the window, divided by its deviation.
        mean_B1: Mean of the value over the window.
        deviation_B1: Deviation of the value over the window, > 0.
    """

    history_BTC: Tensor
    standardised_BTC: Tensor
    mean_B1: Tensor
    deviation_B1: Tensor


def start(*, history_steps: int, num_channels: int, head: heads.Numbers) -> Window:
    """Starts a forecaster by instance normalisation (RevIN, https://openreview.net/forum?id=cGDAkQo1C0p).

    A series drifts, so that its future lies beyond what training saw; its shape within a window
    does not. Statistics are float32 under any policy.

    Args:
        history_steps: Steps of the past T, >= 1.
        num_channels: The value and its covariates C, >= 1.
        head: What it ends with; its deviation says what is small.

    Raises:
        ValueError: If a size is below 1.
    """
    if history_steps < 1 or num_channels < 1:
        raise ValueError(
            "`history_steps` and `num_channels` must be at least 1. "
            f"Received: history_steps={history_steps}, num_channels={num_channels}."
        )
    history_BTC = keras.Input((history_steps, num_channels), name="history", dtype="float32")
    mean_B1C = keras.ops.mean(history_BTC, axis=1, keepdims=True)
    centred_BTC = history_BTC - mean_B1C
    variance_B1C = keras.ops.mean(keras.ops.square(centred_BTC), axis=1, keepdims=True)
    smallest = (_SMALLEST_SHARE * head.deviation) ** 2
    value_deviation_B11 = keras.ops.sqrt(variance_B1C[:, :, :1] + smallest)
    deviation_B1C = value_deviation_B11
    if num_channels > 1:
        # A covariate has a unit of its own, in which nothing is known to be small.
        others_B1C = keras.ops.sqrt(variance_B1C[:, :, 1:] + keras.config.epsilon())
        deviation_B1C = keras.ops.concatenate([value_deviation_B11, others_B1C], axis=2)
    return Window(
        history_BTC=history_BTC,
        standardised_BTC=centred_BTC / deviation_B1C,
        mean_B1=mean_B1C[:, 0, :1],
        deviation_B1=value_deviation_B11[:, 0, :],
    )


def finish(name: str, window: Window, standardised_BH: Tensor) -> keras.Model:
    """Ends a forecaster: from the window's own unit back to that of the series.

    Args:
        name: The model's name.
        window: As `start` returned it.
        standardised_BH: The future in the unit of the window's mean and deviation, float32.

    Returns:
        A Functional model from `history` to `{"predictions": float32 (B, H)}`.
    """
    predictions_BH = standardised_BH * window.deviation_B1 + window.mean_B1
    return keras.Model(window.history_BTC, {"predictions": predictions_BH}, name=name)
