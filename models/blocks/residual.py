"""Convolution, normalisation and the residual blocks of ResNet (https://arxiv.org/abs/1512.03385).

Axes: B batch, H height, W width, C channels.
"""

import keras

from models.blocks.heads import Tensor


def batch_norm(x_BHWC: Tensor, *, name: str, zero_gamma: bool = False) -> Tensor:
    """Normalises over the batch, over all replicas where the backend can.

    Args:
        x_BHWC: Features.
        name: The layer's name.
        zero_gamma: Starts the scale at 0, so that a residual block starts as the identity and a
            deep network trains with a large rate from the first step
            (https://arxiv.org/abs/1706.02677).

    Returns:
        Features of the same shape.
    """
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        gamma_initializer="zeros" if zero_gamma else "ones",
        # Unsynchronised statistics depend on how the batch was divided; only TensorFlow has them.
        synchronized=keras.backend.backend() == "tensorflow",
        name=name,
    )(x_BHWC)


def conv_norm_act(
    x_BHWC: Tensor,
    num_channels: int,
    *,
    kernel_px: int,
    strides: int = 1,
    activation: str | None = "relu",
    zero_gamma: bool = False,
    name: str,
) -> Tensor:
    """Applies convolution, batch normalisation and an activation: the unit of an image network.

    Args:
        x_BHWC: Features.
        num_channels: Output channels, > 0.
        kernel_px: Side of the square kernel, odd.
        strides: Step of the convolution, >= 1; the output is `ceil(H / strides)` high.
        activation: Name of a Keras activation; None leaves it out.
        zero_gamma: As in `batch_norm`.
        name: Prefix of the layers' names.

    Returns:
        Features (B, ceil(H / strides), ceil(W / strides), num_channels).
    """
    x_BHWC = keras.layers.Conv2D(
        num_channels,
        kernel_px,
        strides=strides,
        padding="same",
        # The normalisation that follows subtracts any bias.
        use_bias=False,
        kernel_initializer="he_normal",
        name=f"{name}_conv",
    )(x_BHWC)
    x_BHWC = batch_norm(x_BHWC, zero_gamma=zero_gamma, name=f"{name}_norm")
    if activation is None:
        return x_BHWC
    return keras.layers.Activation(activation, name=f"{name}_{activation}")(x_BHWC)


def _shortcut(x_BHWC: Tensor, num_channels: int, *, strides: int, name: str) -> Tensor:
    if strides == 1 and x_BHWC.shape[-1] == num_channels:
        return x_BHWC
    return conv_norm_act(
        x_BHWC, num_channels, kernel_px=1, strides=strides, activation=None, name=f"{name}_shortcut"
    )


def _add_and_activate(residual_BHWC: Tensor, shortcut_BHWC: Tensor, *, name: str) -> Tensor:
    total_BHWC = keras.layers.Add(name=f"{name}_add")([residual_BHWC, shortcut_BHWC])
    return keras.layers.Activation("relu", name=f"{name}_out")(total_BHWC)


def basic_block(x_BHWC: Tensor, num_channels: int, *, strides: int, name: str) -> Tensor:
    """Two 3x3 convolutions around an identity (ResNet-18 and -34).

    Args:
        x_BHWC: Features.
        num_channels: Output channels, > 0.
        strides: Step of the first convolution, >= 1.
        name: Prefix of the layers' names.

    Returns:
        Features (B, ceil(H / strides), ceil(W / strides), num_channels).
    """
    y_BHWC = conv_norm_act(x_BHWC, num_channels, kernel_px=3, strides=strides, name=f"{name}_1")
    y_BHWC = conv_norm_act(
        y_BHWC, num_channels, kernel_px=3, activation=None, zero_gamma=True, name=f"{name}_2"
    )
    shortcut_BHWC = _shortcut(x_BHWC, num_channels, strides=strides, name=name)
    return _add_and_activate(y_BHWC, shortcut_BHWC, name=name)


def bottleneck_block(x_BHWC: Tensor, num_channels: int, *, strides: int, name: str) -> Tensor:
    """A 3x3 convolution between two 1x1 ones (ResNet-50 and deeper); the stride is on the 3x3.

    Args:
        x_BHWC: Features.
        num_channels: Channels of the narrow part, > 0; the output has four times as many.
        strides: Step of the 3x3 convolution, >= 1.
        name: Prefix of the layers' names.

    Returns:
        Features (B, ceil(H / strides), ceil(W / strides), 4 * num_channels).
    """
    y_BHWC = conv_norm_act(x_BHWC, num_channels, kernel_px=1, name=f"{name}_1")
    y_BHWC = conv_norm_act(y_BHWC, num_channels, kernel_px=3, strides=strides, name=f"{name}_2")
    y_BHWC = conv_norm_act(
        y_BHWC, 4 * num_channels, kernel_px=1, activation=None, zero_gamma=True, name=f"{name}_3"
    )
    shortcut_BHWC = _shortcut(x_BHWC, 4 * num_channels, strides=strides, name=name)
    return _add_and_activate(y_BHWC, shortcut_BHWC, name=name)
