"""The architectures by name."""

from collections.abc import Callable

import keras

from models import config
from models.tabular import mlp
from models.vision import cnn, resnet

_BUILDERS: dict[str, Callable[..., keras.Model]] = {
    "cnn": cnn.build,
    "mlp": mlp.build,
    "resnet": resnet.build,
}


def architectures() -> tuple[str, ...]:
    """Returns the valid values of `architecture`, sorted.

    >>> architectures()
    ('cnn', 'mlp', 'resnet')
    """
    return tuple(sorted(_BUILDERS))


def builder(architecture: str) -> Callable[..., keras.Model]:
    """Looks up an architecture's build function.

    Raises:
        ValueError: If there is no such architecture; the message lists the valid ones.
    """
    if architecture not in _BUILDERS:
        raise ValueError(
            f"`architecture` must be one of {', '.join(architectures())}. "
            f"Received: architecture={architecture!r}."
        )
    return _BUILDERS[architecture]


def build_model(
    model: config.ModelConfig, *, image_shape: tuple[int, int, int], num_classes: int
) -> keras.Model:
    """Builds the Functional model that a recipe's `[model]` table describes.

    It is built under the dtype policy and distribution strategy that are current when it is called.

    Args:
        model: One member of the config union; its `architecture` chooses the builder.
        image_shape: (height, width, channels) of the pixels.
        num_classes: Number of classes K, >= 2.

    Returns:
        A model from `image` (pixels in [0, 255], (B, H, W, C)) to `{"logits": float32 (B, K)}`.

    Raises:
        ValueError: If the settings do not fit the image or the classes.
    """
    return builder(model.architecture)(model, image_shape=image_shape, num_classes=num_classes)
