"""ModelConfig: a union with one member per architecture, chosen by its `architecture` key."""

import json
from typing import Annotated, Any, Literal

import pydantic

from models.base_config import StrictConfig

PositiveInt = Annotated[int, pydantic.Field(gt=0)]
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
    """A multi-layer perceptron over the flattened input."""

    architecture: Literal["mlp"]
    hidden_units: Annotated[tuple[PositiveInt, ...], pydantic.Field(min_length=1)] = (128, 128)
    dropout_rate: DropRate = 0.1


ModelConfig = Annotated[
    CnnConfig | ResNetConfig | MlpConfig, pydantic.Field(discriminator="architecture")
]
_ADAPTER: pydantic.TypeAdapter[CnnConfig | ResNetConfig | MlpConfig] = pydantic.TypeAdapter(
    ModelConfig
)


def parse_model_config(values: dict[str, Any]) -> CnnConfig | ResNetConfig | MlpConfig:
    """Builds the member of the union that `architecture` names, from plain data.

    Raises:
        pydantic.ValidationError: If the architecture is unknown or a setting is invalid; the
            message lists the valid architectures.
    """
    return _ADAPTER.validate_json(json.dumps(values))
