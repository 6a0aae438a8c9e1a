"""A temporal convolutional network: dilated causal convolutions that see the whole window.

Axes: B batch, T steps of the past, C channels, F features, H steps ahead.
"""

from typing import Any

import keras

from models import config
from models.blocks import heads, series_io


def build(
    tcn: config.TcnConfig, *, history_steps: int, num_channels: int, head: heads.Numbers
) -> keras.Model:
    """Builds a TCN (https://arxiv.org/abs/1803.01271): it learns what a linear map cannot.

    Each block's dilation is twice the last one's; there are as many blocks as it takes for the
    last step to see the first.

    Args:
        tcn: The architecture's settings.
        history_steps: Steps of the past T, >= 1.
        num_channels: The value and its covariates C, >= 1.
        head: How many steps ahead H, and the target's deviation.

    Returns:
        A model from `history` (float32 (B, T, C), the value first) to
        `{"predictions": float32 (B, H)}`.

    Raises:
        ValueError: If a size is below 1.

    >>> tcn = config.TcnConfig(architecture="tcn", num_filters=8)
    >>> head = heads.Numbers(num_numbers=4)
    >>> build(tcn, history_steps=24, num_channels=1, head=head).count_params()
    1084
    """
    window = series_io.start(history_steps=history_steps, num_channels=num_channels, head=head)
    x_BTF = dilated_stack(window.standardised_BTC, tcn, num_steps=history_steps)
    standardised_BH = keras.layers.Dense(head.num_numbers, dtype="float32", name="standardised")(
        x_BTF[:, -1]
    )
    return series_io.finish("tcn", window, standardised_BH)


def dilated_stack(x_BTC: Any, tcn: config.TcnConfig, *, num_steps: int, prefix: str = "") -> Any:
    """Applies as many blocks as it takes for the last step to see the first.

    Args:
        x_BTC: Values of `num_steps` steps.
        tcn: The architecture's settings.
        num_steps: Steps T, >= 1.
        prefix: Of the names of all layers, where a model has several such stacks.

    Returns:
        Features (B, T, F).
    """
    x_BTF = x_BTC
    for index in range(num_blocks(num_steps, tcn.kernel_steps)):
        x_BTF = _block(x_BTF, tcn, index=index, prefix=prefix)
    return x_BTF


def num_blocks(history_steps: int, kernel_steps: int) -> int:
    """Returns how many blocks it takes to see `history_steps` steps.

    Two convolutions of dilation d reach back 2 (k - 1) d steps, and the dilations are 1, 2, 4, ...

    >>> [num_blocks(steps, 3) for steps in (1, 5, 6, 13, 14)]
    [1, 1, 2, 2, 3]
    """
    count = 1
    while 1 + 2 * (kernel_steps - 1) * (2**count - 1) < history_steps:
        count += 1
    return count


def _block(x_BTF: Any, tcn: config.TcnConfig, *, index: int, prefix: str) -> Any:
    inner_BTF = x_BTF
    name = f"{prefix}block{index + 1}"
    for part in "ab":
        inner_BTF = keras.layers.Conv1D(
            tcn.num_filters,
            tcn.kernel_steps,
            padding="causal",
            dilation_rate=2**index,
            activation="relu",
            kernel_initializer="he_normal",
            name=f"{name}_{part}",
        )(inner_BTF)
        if tcn.dropout_rate > 0:
            inner_BTF = keras.layers.SpatialDropout1D(
                tcn.dropout_rate, name=f"{name}_{part}_dropout"
            )(inner_BTF)
    if x_BTF.shape[-1] != tcn.num_filters:
        x_BTF = keras.layers.Conv1D(tcn.num_filters, 1, name=f"{name}_shortcut")(x_BTF)
    return keras.layers.Add(name=f"{name}_sum")([x_BTF, inner_BTF])
