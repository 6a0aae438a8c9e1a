"""The beginning of every image model.

Axes: B batch, H height, W width, C channels.
"""

from typing import Any

import keras

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
