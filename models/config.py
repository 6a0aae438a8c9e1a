"""ModelConfig: a union with one member per architecture, chosen by its `architecture` key."""

import json
from typing import Annotated, Any, Literal, Self

import pydantic

from models.base_config import StrictConfig

PositiveInt = Annotated[int, pydantic.Field(gt=0)]
MaskShare = Annotated[float, pydantic.Field(gt=0.0, le=1.0)]
DropRate = Annotated[float, pydantic.Field(ge=0.0, lt=1.0)]


class CnnConfig(StrictConfig):
    """A small convolutional network with residual blocks."""

    architecture: Literal["cnn"]
    stage_channels: Annotated[tuple[PositiveInt, ...], pydantic.Field(min_length=1)] = (16, 32, 64)
    blocks_per_stage: PositiveInt = 1
    dropout_rate: DropRate = 0.2


class ResNetConfig(StrictConfig):
    """ResNet (He et al. 2015, https://arxiv.org/abs/1512.03385)."""

    architecture: Literal["resnet"]
    depth: Literal[18, 34, 50, 101, 152] = 18
    stem: Literal["imagenet", "small_image"] = "small_image"
    dropout_rate: DropRate = 0.0


class MlpConfig(StrictConfig):
    """A multi-layer perceptron over the flattened image, or over the columns of a table."""

    architecture: Literal["mlp"]
    hidden_units: Annotated[tuple[PositiveInt, ...], pydantic.Field(min_length=1)] = (128, 128)
    dropout_rate: DropRate = 0.1


class BagOfEmbeddingsConfig(StrictConfig):
    """The mean of the words' embeddings (fastText, https://arxiv.org/abs/1607.01759)."""

    architecture: Literal["bag_of_embeddings"]
    width: PositiveInt = 64
    dropout_rate: DropRate = 0.2


class TransformerConfig(StrictConfig):
    """A transformer encoder with pre-normalisation (https://arxiv.org/abs/2002.04745)."""

    architecture: Literal["transformer"]
    num_layers: PositiveInt = 2
    width: PositiveInt = 128
    num_heads: PositiveInt = 4
    # Width of the feed-forward layers, in widths of the model.
    mlp_ratio: PositiveInt = 4
    dropout_rate: DropRate = 0.1
    # A learned vector for each position, or rotary angles (https://arxiv.org/abs/2104.09864).
    positions: Literal["learned", "rotary"] = "rotary"

    @pydantic.model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        unit = self.num_heads * (2 if self.positions == "rotary" else 1)
        if self.width % unit:
            raise ValueError(
                "`width` must be a multiple of `num_heads`, and of twice that with rotary "
                f"positions, which turn pairs of features. Received: width={self.width}, "
                f"num_heads={self.num_heads}, positions={self.positions!r}. "
                f"The next valid width is {-(-self.width // unit) * unit}."
            )
        return self


class SpecAugmentConfig(StrictConfig):
    """Masks over a spectrogram in training (SpecAugment, https://arxiv.org/abs/1904.08779)."""

    num_frequency_masks: Annotated[int, pydantic.Field(ge=0)] = 2
    # The widest mask, as a share of the bands or of the frames.
    max_frequency_share: MaskShare = 0.2
    num_time_masks: Annotated[int, pydantic.Field(ge=0)] = 2
    max_time_share: MaskShare = 0.1


class SpectrogramCnnConfig(StrictConfig):
    """A convolutional network over the mel spectrogram of a recording."""

    architecture: Literal["spectrogram_cnn"]
    window_ms: Annotated[float, pydantic.Field(gt=0.0)] = 25.0
    hop_ms: Annotated[float, pydantic.Field(gt=0.0)] = 10.0
    num_mels: PositiveInt = 64
    stage_channels: Annotated[tuple[PositiveInt, ...], pydantic.Field(min_length=1)] = (16, 32, 64)
    blocks_per_stage: PositiveInt = 1
    dropout_rate: DropRate = 0.2
    spec_augment: SpecAugmentConfig | None = None


class DLinearConfig(StrictConfig):
    """A linear map of a window's trend and remainder (https://arxiv.org/abs/2205.13504)."""

    architecture: Literal["dlinear"]
    # Steps of the moving average that is the trend; a shorter window is averaged whole.
    trend_steps: PositiveInt = 25


class TcnConfig(StrictConfig):
    """A temporal convolutional network (https://arxiv.org/abs/1803.01271) of series or lists."""

    architecture: Literal["tcn"]
    num_filters: PositiveInt = 32
    # Steps that one convolution looks at.
    kernel_steps: Annotated[int, pydantic.Field(ge=2)] = 3
    dropout_rate: DropRate = 0.1


# Kind of input -> the architectures that read it.
ARCHITECTURES = {
    "image": ("cnn", "mlp", "resnet"),
    "text": ("bag_of_embeddings", "transformer"),
    "table": ("mlp", "tcn"),
    "series": ("dlinear", "tcn"),
    "audio": ("spectrogram_cnn",),
}

# The architectures with dense layers that are not their last: what float8 makes faster.
FLOAT8_ARCHITECTURES = ("mlp", "transformer")

AnyModelConfig = (
    CnnConfig
    | ResNetConfig
    | MlpConfig
    | BagOfEmbeddingsConfig
    | TransformerConfig
    | SpectrogramCnnConfig
    | DLinearConfig
    | TcnConfig
)
ModelConfig = Annotated[AnyModelConfig, pydantic.Field(discriminator="architecture")]
_ADAPTER: pydantic.TypeAdapter[AnyModelConfig] = pydantic.TypeAdapter(ModelConfig)


def parse_model_config(values: dict[str, Any]) -> AnyModelConfig:
    """Builds the member of the union that `architecture` names, from plain data.

    Raises:
        pydantic.ValidationError: If the architecture is unknown or a setting is invalid; the
            message lists the valid architectures.
    """
    return _ADAPTER.validate_json(json.dumps(values))
