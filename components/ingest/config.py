"""DataConfig: where the examples come from, what they hold, and how they are split."""

from typing import Annotated, Literal

import pydantic

from models.base_config import StrictConfig

Share = Annotated[float, pydantic.Field(gt=0.0, lt=1.0)]


class TfdsSource(StrictConfig):
    """A TensorFlow Datasets name: a prepared folder, the network, or a Debian package that holds the same data."""

    kind: Literal["tfds"]
    name: str
    data_dir: str | None = None


class SklearnSource(StrictConfig):
    """A dataset that the scikit-learn package itself ships."""

    kind: Literal["sklearn"]
    name: Literal["digits"]


Source = Annotated[TfdsSource | SklearnSource, pydantic.Field(discriminator="kind")]


class ImageFeature(StrictConfig):
    """The input image; pixels are uint8 in [0, 255]."""

    name: str = "image"
    height_px: Annotated[int, pydantic.Field(gt=0)]
    width_px: Annotated[int, pydantic.Field(gt=0)]
    channels: Literal[1, 3]


class LabelFeature(StrictConfig):
    """The class label: an int64 index into `class_names`."""

    name: str = "label"
    class_names: Annotated[tuple[str, ...], pydantic.Field(min_length=2)]


class SplitConfig(StrictConfig):
    """Shares of the splits that the source does not give itself; membership is a hash of the key."""

    validation_share: Share = 0.1
    # Only for sources without a test split of their own.
    test_share: Share | None = None


class DataConfig(StrictConfig):
    """The data of a recipe."""

    source: Source
    image: ImageFeature
    label: LabelFeature
    splits: SplitConfig = SplitConfig()
