"""DLinear: one linear layer for the trend of a window and one for what is left of it.

Axes: B batch, T steps of the past, C channels, H steps ahead.
"""

from typing import Any

import keras

from models import config
from models.blocks import heads, series_io


def build(
    dlinear: config.DLinearConfig, *, history_steps: int, num_channels: int, head: heads.Numbers
) -> keras.Model:
    """Builds DLinear (https://arxiv.org/abs/2205.13504), which few transformers beat.

    The trend is a moving average; both parts are mapped to the whole future at once. With
    covariates each step of each channel has its own weight.

    Args:
        dlinear: The architecture's settings.
        history_steps: Steps of the past T, >= 1.
        num_channels: The value and its covariates C, >= 1.
        head: How many steps ahead H, and the target's deviation.

    Returns:
        A model from `history` (float32 (B, T, C), the value first) to
        `{"predictions": float32 (B, H)}`.

    Raises:
        ValueError: If a size is below 1.

    >>> dlinear = config.DLinearConfig(architecture="dlinear")
    >>> head = heads.Numbers(num_numbers=48)
    >>> build(dlinear, history_steps=336, num_channels=1, head=head).count_params()
    32352
    """
    window = series_io.start(history_steps=history_steps, num_channels=num_channels, head=head)
    num_steps = min(dlinear.trend_steps, history_steps)
    trend_BTC = _moving_average(window.standardised_BTC, num_steps=num_steps)
    parts = {"trend": trend_BTC, "seasonal": window.standardised_BTC - trend_BTC}
    forecasts = [
        # The problem is convex: from zero it begins at the window's mean, the same each time.
        keras.layers.Dense(
            head.num_numbers, kernel_initializer="zeros", dtype="float32", name=name
        )(keras.layers.Flatten(name=f"flat_{name}")(part_BTC))
        for name, part_BTC in parts.items()
    ]
    return series_io.finish("dlinear", window, forecasts[0] + forecasts[1])


def _moving_average(x_BTC: Any, *, num_steps: int) -> Any:
    """Averages over `num_steps` around each step, with the ends repeated outwards."""
    before, after = (num_steps - 1) // 2, num_steps // 2
    ends = [
        keras.ops.repeat(x_BTC[:, :1], before, axis=1) if before else None,
        x_BTC,
        keras.ops.repeat(x_BTC[:, -1:], after, axis=1) if after else None,
    ]
    padded = [part for part in ends if part is not None]
    padded_BTC = keras.ops.concatenate(padded, axis=1) if len(padded) > 1 else x_BTC
    return keras.layers.AveragePooling1D(num_steps, strides=1, name="moving_average")(padded_BTC)
