"""The hidden layers of a multi-layer perceptron.

Axes: B batch, F features.
"""

import keras

from models import config
from models.blocks.heads import Tensor


def hidden_layers(features_BF: Tensor, mlp: config.MlpConfig) -> Tensor:
    """Applies the layers that the settings name, with dropout between them.

    Args:
        features_BF: One vector per example.
        mlp: The architecture's settings.

    Returns:
        Features of as many units as the last layer has.
    """
    for index, num_units in enumerate(mlp.hidden_units):
        features_BF = keras.layers.Dense(
            num_units, activation="relu", kernel_initializer="he_normal", name=f"hidden{index + 1}"
        )(features_BF)
        if mlp.dropout_rate > 0 and index + 1 < len(mlp.hidden_units):
            features_BF = keras.layers.Dropout(mlp.dropout_rate, name=f"dropout{index + 1}")(
                features_BF
            )
    return features_BF
