"""The architectures by name."""

from collections.abc import Callable, Mapping
from typing import Any

import keras

from models import config
from models.blocks import heads
from models.tabular import mlp
from models.text import bag_of_embeddings, transformer
from models.timeseries import dlinear, tcn
from models.vision import cnn, resnet

_IMAGE_BUILDERS: dict[str, Callable[..., keras.Model]] = {
    "cnn": cnn.build,
    "mlp": mlp.build,
    "resnet": resnet.build,
}
_TEXT_BUILDERS: dict[str, Callable[..., keras.Model]] = {
    "bag_of_embeddings": bag_of_embeddings.build,
    "transformer": transformer.build,
}
_SERIES_BUILDERS: dict[str, Callable[..., keras.Model]] = {
    "dlinear": dlinear.build,
    "tcn": tcn.build,
}
_BUILDERS = _IMAGE_BUILDERS | _TEXT_BUILDERS | _SERIES_BUILDERS


def architectures() -> tuple[str, ...]:
    """Returns the valid values of `architecture`, sorted.

    >>> architectures()
    ('bag_of_embeddings', 'cnn', 'dlinear', 'mlp', 'resnet', 'tcn', 'transformer')
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
    """Builds the Functional model of images that a recipe's `[model]` table describes.

    It is built under the dtype policy and distribution strategy that are current when it is called.

    Args:
        model: One member of the config union; its `architecture` chooses the builder.
        image_shape: (height, width, channels) of the pixels.
        num_classes: Number of classes K, >= 2.

    Returns:
        A model from `image` (pixels in [0, 255], (B, H, W, C)) to `{"logits": float32 (B, K)}`.

    Raises:
        ValueError: If the architecture is not one of images, or the settings do not fit the image
            or the classes.
    """
    _check_input(model.architecture, _IMAGE_BUILDERS, kind="images")
    return builder(model.architecture)(model, image_shape=image_shape, num_classes=num_classes)


def build_text_model(
    model: config.ModelConfig, *, vocabulary_size: int, max_tokens: int, num_classes: int
) -> keras.Model:
    """Builds the Functional model of texts that a recipe's `[model]` table describes.

    Args:
        model: One member of the config union; its `architecture` chooses the builder.
        vocabulary_size: Number of different tokens, padding (0) included.
        max_tokens: Length of the longest text.
        num_classes: Number of classes K, >= 2.

    Returns:
        A model from `token_ids` (int32, (B, T), 0 is padding) to `{"logits": float32 (B, K)}`.

    Raises:
        ValueError: If the architecture is not one of texts, or the settings do not fit.
    """
    _check_input(model.architecture, _TEXT_BUILDERS, kind="texts")
    return builder(model.architecture)(
        model, vocabulary_size=vocabulary_size, max_tokens=max_tokens, num_classes=num_classes
    )


def build_series_model(
    model: config.ModelConfig, *, history_steps: int, num_channels: int, head: heads.Numbers
) -> keras.Model:
    """Builds the Functional forecaster that a recipe's `[model]` table describes.

    Args:
        model: One member of the config union; its `architecture` chooses the builder.
        history_steps: Steps of the past T.
        num_channels: The value and its covariates C.
        head: How many steps ahead H, and the target's deviation.

    Returns:
        A model from `history` (float32 (B, T, C)) to `{"predictions": float32 (B, H)}`.

    Raises:
        ValueError: If the architecture is not one of series, or the settings do not fit.
    """
    _check_input(model.architecture, _SERIES_BUILDERS, kind="series")
    return builder(model.architecture)(
        model, history_steps=history_steps, num_channels=num_channels, head=head
    )


def _check_input(architecture: str, builders: Mapping[str, Any], *, kind: str) -> None:
    if architecture not in builders:
        raise ValueError(
            f"`model.architecture` must be one that reads {kind}: {', '.join(sorted(builders))}. "
            f"Received: architecture={architecture!r}."
        )
