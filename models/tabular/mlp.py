"""A multi-layer perceptron over the flattened input.

Axes: B batch, H height, W width, C channels, F features.
"""

import keras

from models import config
from models.blocks import image_io


def build(
    mlp: config.MlpConfig, *, image_shape: tuple[int, int, int], num_classes: int
) -> keras.Model:
    """Builds the perceptron: the quickest network to train, and the one to beat.

    Args:
        mlp: The architecture's settings.
        image_shape: (height, width, channels) of the input; all of it is flattened.
        num_classes: Number of classes K, >= 2.

    Returns:
        A model from `image` (values in [0, 255], (B, H, W, C)) to `{"logits": float32 (B, K)}`.

    >>> mlp = config.MlpConfig(architecture="mlp", hidden_units=(32,))
    >>> build(mlp, image_shape=(8, 8, 1), num_classes=10).count_params()
    2410
    """
    pixels_BHWC, x_BHWC = image_io.pixels_input(image_shape)
    features_BF = keras.layers.Flatten(name="flatten")(x_BHWC)
    for index, num_units in enumerate(mlp.hidden_units):
        features_BF = keras.layers.Dense(
            num_units, activation="relu", kernel_initializer="he_normal", name=f"hidden{index + 1}"
        )(features_BF)
        if mlp.dropout_rate > 0 and index + 1 < len(mlp.hidden_units):
            features_BF = keras.layers.Dropout(mlp.dropout_rate, name=f"dropout{index + 1}")(
                features_BF
            )
    return image_io.classifier(
        "mlp", pixels_BHWC, features_BF, num_classes=num_classes, dropout_rate=mlp.dropout_rate
    )
