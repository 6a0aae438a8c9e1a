"""InputConfig: augmentation, shuffling and caching of the tf.data chains."""

from typing import Annotated, Literal

import pydantic

from models.base_config import StrictConfig


class AugmentConfig(StrictConfig):
    """Random changes to training images; each is off by default."""

    horizontal_flip: bool = False
    max_translation_px: Annotated[int, pydantic.Field(ge=0)] = 0


class InputConfig(StrictConfig):
    """How examples become batches."""

    cache: Literal["memory", "none"] = "memory"
    augment: AugmentConfig = AugmentConfig()
