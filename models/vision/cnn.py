"""A small convolutional network with residual blocks, for small images on a processor.

Axes: B batch, H height, W width, C channels, F features.
"""

import keras

from models import config
from models.blocks import heads, image_io, residual


def build(
    cnn: config.CnnConfig, *, image_shape: tuple[int, int, int], head: heads.Head
) -> keras.Model:
    """Builds the network: a stem, then stages of residual blocks, each half the size of the last.

    Args:
        cnn: The architecture's settings.
        image_shape: (height, width, channels) of the pixels.
        head: What the model ends with.

    Returns:
        A model from `image` (pixels in [0, 255], (B, H, W, C)) to what the head gives.

    Raises:
        ValueError: If the image is too small for the number of stages.

    >>> cnn = config.CnnConfig(architecture="cnn", stage_channels=(8, 16))
    >>> head = heads.Classes(num_classes=10)
    >>> build(cnn, image_shape=(28, 28, 1), head=head).output["logits"].shape
    (None, 10)
    """
    num_halvings = len(cnn.stage_channels)
    if min(image_shape[:2]) < 2**num_halvings:
        raise ValueError(
            f"`stage_channels` has {num_halvings} stages, each of which halves the image, so both "
            f"sides must be at least {2**num_halvings} px. Received: image_shape={image_shape}. "
            "Use fewer stages or larger images."
        )
    pixels_BHWC, x_BHWC = image_io.pixels_input(image_shape)
    x_BHWC = _stem(x_BHWC, cnn.stage_channels[0])
    for stage, num_channels in enumerate(cnn.stage_channels):
        for block in range(cnn.blocks_per_stage):
            strides = 2 if stage > 0 and block == 0 else 1
            x_BHWC = residual.basic_block(
                x_BHWC, num_channels, strides=strides, name=f"stage{stage + 1}_block{block + 1}"
            )
    features_BF = keras.layers.GlobalAveragePooling2D(name="pool")(x_BHWC)
    return heads.finish("cnn", pixels_BHWC, features_BF, head=head, dropout_rate=cnn.dropout_rate)


def _stem(x_BHWC: heads.Tensor, num_channels: int) -> heads.Tensor:
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
