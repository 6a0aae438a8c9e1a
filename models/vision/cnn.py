"""A small convolutional network with residual blocks, for small images on a processor.

Axes: B batch, H height, W width, C channels, F features.
"""

import keras

from models import config
from models.blocks import conv_stack, heads, image_io


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
    features_BF = conv_stack.pooled_features(
        x_BHWC, stage_channels=cnn.stage_channels, blocks_per_stage=cnn.blocks_per_stage
    )
    return heads.finish("cnn", pixels_BHWC, features_BF, head=head, dropout_rate=cnn.dropout_rate)
