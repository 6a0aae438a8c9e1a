"""DataConfig: where the examples come from, what they hold, and how they are split."""

from typing import Annotated, Literal, Self

import pydantic

from models.base_config import StrictConfig

# What the features of an ingested example are called, whatever the source calls them.
IMAGE_FEATURE, LABEL_FEATURE = "image", "label"

Share = Annotated[float, pydantic.Field(gt=0.0, lt=1.0)]


class TfdsSource(StrictConfig):
    """A TensorFlow Datasets name, had from a prepared folder, the network or a Debian package."""

    kind: Literal["tfds"]
    name: str
    data_dir: str | None = None


class SklearnSource(StrictConfig):
    """A dataset that the scikit-learn package itself ships."""

    kind: Literal["sklearn"]
    name: Literal["digits"]


class ImageFolderSource(StrictConfig):
    """A folder of images: `<class>/<file>`, or `<split>/<class>/<file>` with given splits."""

    kind: Literal["image_folder"]
    # From the root or from the home folder, so that it means the same wherever the run starts.
    path: str
    # A CSV file in the folder with the columns "file", "label" and, if the splits are given,
    # "split"; without it a file's class is the name of its folder.
    labels_file: str | None = None

    @pydantic.field_validator("path")
    @classmethod
    def _path_is_absolute(cls, path: str) -> str:
        if not path.startswith(("/", "~")):
            raise ValueError(
                "path must begin with / or ~, since the run may start in any folder. "
                f'Received: "{path}". Write it in full, such as "~/photos".'
            )
        return path


Source = Annotated[
    TfdsSource | SklearnSource | ImageFolderSource, pydantic.Field(discriminator="kind")
]


class ImageFeature(StrictConfig):
    """The input image; pixels are uint8 in [0, 255]."""

    # Its name in the source; in the ingested examples it is always IMAGE_FEATURE.
    source_name: str = "image"
    height_px: Annotated[int, pydantic.Field(gt=0)]
    width_px: Annotated[int, pydantic.Field(gt=0)]
    channels: Literal[1, 3]
    # False: an image of another size stops the run. True: it is stretched, in training and in
    # serving alike.
    resize: bool = False


class LabelFeature(StrictConfig):
    """The class label: an int64 index into `class_names`."""

    # Its name in the source; in the ingested examples it is always LABEL_FEATURE.
    source_name: str = "label"
    class_names: Annotated[tuple[str, ...], pydantic.Field(min_length=2)]

    @pydantic.model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        twice = sorted({name for name in self.class_names if self.class_names.count(name) > 1})
        if twice:
            raise ValueError(
                "class_names must differ from each other. "
                f"Received twice or more: {', '.join(twice)}. Rename or remove the repeated ones."
            )
        return self


class SplitConfig(StrictConfig):
    """Shares of the splits that the source does not give; membership is a hash of the content."""

    validation_share: Share = 0.1
    # Only for sources without a test split of their own.
    test_share: Share | None = None

    @pydantic.model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> Self:
        if self.validation_share + (self.test_share or 0.0) >= 1.0:
            raise ValueError(
                "validation_share and test_share must sum to less than 1, so that training gets "
                f"the rest. Received: validation_share = {self.validation_share}, "
                f"test_share = {self.test_share}. Lower one of them."
            )
        return self


class RejectConfig(StrictConfig):
    """How many rows may be unusable; they are listed in the dataset's `rejects.jsonl`."""

    max_share: Annotated[float, pydantic.Field(ge=0.0, lt=1.0)] = 0.0


class DataConfig(StrictConfig):
    """The data of a recipe."""

    source: Source
    image: ImageFeature
    label: LabelFeature
    splits: SplitConfig = SplitConfig()
    rejects: RejectConfig = RejectConfig()
