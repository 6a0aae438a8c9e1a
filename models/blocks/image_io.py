"""The two ends of every image classifier: pixels in, logits out.

Axes: B batch, H height, W width, C channels, F features, K classes.
"""

from typing import Any

import keras

from models.blocks import heads

# A KerasTensor while a Functional model is built; Keras publishes no narrower type for it.
Tensor = Any


def pixels_input(image_shape: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
    """Starts an image model: serving sends raw pixels, so the scaling belongs to the model.

    Args:
        image_shape: (height, width, channels), each > 0.

    Returns:
        The input named `image` (pixels in [0, 255], (B, H, W, C)), and the same in [0, 1].

    Raises:
        ValueError: If `image_shape` is not three positive integers.
    """
    if len(image_shape) != 3 or any(size <= 0 for size in image_shape):
        raise ValueError(
            "`image_shape` must be three positive integers (height, width, channels). "
            f"Received: image_shape={image_shape}."
        )
    pixels_BHWC = keras.Input(image_shape, name="image")
    return pixels_BHWC, keras.layers.Rescaling(1 / 255, name="rescale")(pixels_BHWC)


def classifier(
    name: str, inputs: Tensor, features_BF: Tensor, *, num_classes: int, dropout_rate: float
) -> keras.Model:
    """Ends a classifier: dropout, then one linear layer whose logits are float32 under any policy.

    Args:
        name: The model's name.
        inputs: The model's input, as `pixels_input` returned it.
        features_BF: Features of one vector per example.
        num_classes: Number of classes K, >= 2.
        dropout_rate: Share of features dropped in training, in [0, 1).

    Returns:
        A Functional model that returns `{"logits": float32 (B, K)}`.

    Raises:
        ValueError: If `num_classes` is below 2.
    """
    head = heads.Classes(num_classes=num_classes)
    return heads.finish(name, inputs, features_BF, head=head, dropout_rate=dropout_rate)
