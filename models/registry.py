"""The architectures by name and by what they read."""

from collections.abc import Callable, Mapping
from typing import Any

import keras

from models import config
from models import inputs as input_specs
from models.audio import spectrogram_cnn
from models.blocks import heads
from models.tabular import mlp, table_mlp, table_tcn
from models.text import bag_of_embeddings, transformer
from models.timeseries import dlinear, tcn
from models.vision import cnn, resnet

Builder = Callable[..., keras.Model]

# Kind of input -> architecture -> its build function, which takes what `_sizes` gives.
_BUILDERS: Mapping[str, Mapping[str, Builder]] = {
    "image": {"cnn": cnn.build, "mlp": mlp.build, "resnet": resnet.build},
    "text": {"bag_of_embeddings": bag_of_embeddings.build, "transformer": transformer.build},
    "table": {"mlp": table_mlp.build, "tcn": table_tcn.build},
    "audio": {"spectrogram_cnn": spectrogram_cnn.build},
    "series": {"dlinear": dlinear.build, "tcn": tcn.build},
}


def architectures(kind: str) -> tuple[str, ...]:
    """Returns the architectures that read a kind of input, sorted.

    >>> architectures("text")
    ('bag_of_embeddings', 'transformer')
    """
    return tuple(sorted(_BUILDERS[kind]))


def builder(architecture: str, kind: str) -> Builder:
    """Looks up an architecture's build function for a kind of input.

    Raises:
        ValueError: If no architecture of that name reads the kind; the message lists those that do.
    """
    if architecture not in _BUILDERS[kind]:
        raise ValueError(
            f"`model.architecture` must be one that reads the input {kind!r}: "
            f"{', '.join(architectures(kind))}. Received: architecture={architecture!r}."
        )
    return _BUILDERS[kind][architecture]


def build_model(
    model: config.ModelConfig, *, inputs: input_specs.InputSpec, head: heads.Head
) -> keras.Model:
    """Builds the Functional model that a recipe's `[model]` table describes.

    It is built under the dtype policy and distribution strategy that are current when it is called.

    Args:
        model: One member of the config union; its `architecture` chooses the builder.
        inputs: What the model reads.
        head: What it ends with.

    Returns:
        A model from what the input spec names to what the head gives: `{"logits": (B, K)}` or
        `{"predictions": (B, N)}`, float32.

    Raises:
        ValueError: If the architecture does not read such an input, or the settings do not fit.
    """
    build = builder(model.architecture, inputs.kind)
    return build(model, **_sizes(inputs), head=head)


def _sizes(spec: input_specs.InputSpec) -> dict[str, Any]:
    match spec:
        case input_specs.ImageInput():
            return {"image_shape": spec.shape}
        case input_specs.TokensInput():
            return {"vocabulary_size": spec.vocabulary_size, "max_tokens": spec.max_tokens}
        case input_specs.TableInput():
            return {"table": spec}
        case input_specs.AudioInput():
            return {"audio": spec}
        case input_specs.SeriesInput():
            return {"history_steps": spec.history_steps, "num_channels": spec.num_channels}
