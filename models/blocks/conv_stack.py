"""A stem and stages of residual blocks: what a small network for a processor makes of a picture.

Axes: B batch, H height, W width, C channels, F features.
"""

from collections.abc import Sequence

import keras

from models.blocks import residual
from models.blocks.heads import Tensor


def pooled_features(
    x_BHWC: Tensor, *, stage_channels: Sequence[int], blocks_per_stage: int
) -> Tensor:
    """Applies a stem that halves the size, then stages, each half the size of the last.

    Args:
        x_BHWC: A picture, each side at least 2 to the power of the number of stages.
        stage_channels: Channels of each stage.
        blocks_per_stage: Residual blocks of each stage, >= 1.

    Returns:
        The mean over all places, (B, F) with F the channels of the last stage.
    """
    x_BHWC = _stem(x_BHWC, stage_channels[0])
    for stage, num_channels in enumerate(stage_channels):
        for block in range(blocks_per_stage):
            strides = 2 if stage > 0 and block == 0 else 1
            x_BHWC = residual.basic_block(
                x_BHWC, num_channels, strides=strides, name=f"stage{stage + 1}_block{block + 1}"
            )
    return keras.layers.GlobalAveragePooling2D(name="pool")(x_BHWC)


def _stem(x_BHWC: Tensor, num_channels: int) -> Tensor:
    x_BHWC = keras.layers.Conv2D(
        num_channels,
        3,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name="stem_conv",
    )(x_BHWC)
    # Pooled before it is normalised: a processor spends its time on the passes over the full size.
    x_BHWC = keras.layers.MaxPooling2D(2, name="stem_pool")(x_BHWC)
    x_BHWC = residual.batch_norm(x_BHWC, name="stem_norm")
    return keras.layers.Activation("relu", name="stem_relu")(x_BHWC)
