"""A multi-layer perceptron over the flattened input.

Axes: B batch, H height, W width, C channels, F features.
"""

import keras

from models import config
from models.blocks import dense_stack, heads, image_io


def build(
    mlp: config.MlpConfig, *, image_shape: tuple[int, int, int], head: heads.Head
) -> keras.Model:
    """Builds the perceptron: the quickest network to train, and the one to beat.

    Args:
        mlp: The architecture's settings.
        image_shape: (height, width, channels) of the input; all of it is flattened.
        head: What the model ends with.

    Returns:
        A model from `image` (values in [0, 255], (B, H, W, C)) to what the head gives.

    >>> mlp = config.MlpConfig(architecture="mlp", hidden_units=(32,))
    >>> build(mlp, image_shape=(8, 8, 1), head=heads.Classes(num_classes=10)).count_params()
    2410
    """
    pixels_BHWC, x_BHWC = image_io.pixels_input(image_shape)
    features_BF = keras.layers.Flatten(name="flatten")(x_BHWC)
    features_BF = dense_stack.hidden_layers(features_BF, mlp)
    return heads.finish("mlp", pixels_BHWC, features_BF, head=head, dropout_rate=mlp.dropout_rate)
