"""DataConfig: where the examples come from, what they hold, and how they are split."""

from typing import Annotated, Literal, Self, TypeVar

import pydantic

from components.ingest.features.config import (
    AudioFeature,
    ImageFeature,
    LabelFeature,
    SeriesFeature,
    TableFeature,
    TargetFeature,
    TextFeature,
)
from components.ingest.sources.config import FilesSource, Source, TfdsSource
from models.base_config import StrictConfig

Share = Annotated[float, pydantic.Field(gt=0.0, lt=1.0)]


FeatureT = TypeVar("FeatureT", ImageFeature, AudioFeature, LabelFeature)
Input = ImageFeature | TextFeature | AudioFeature | TableFeature | SeriesFeature
_INPUTS = ("image", "text", "audio", "table", "series")
# The only input that a source of this kind has; the others hold any.
_SOURCE_INPUTS = {"image_folder": "image", "audio_folder": "audio", "sklearn": "image"}


class SplitConfig(StrictConfig):
    """How the splits that the source does not give are made.

    "hash": membership is a hash of the content, or of the column `key`. "group": rows with the same
    value of the column `key` stay together. "time": the latest rows by the column `key` are the
    test split, the ones before them the validation split.
    """

    by: Literal["hash", "group", "time"] = "hash"
    key: str | None = None
    validation_share: Share = 0.1
    # Only for sources without a test split of their own.
    test_share: Share | None = None
    # k-fold: what is not in the test split is cut into `folds` equal parts, of which number `fold`
    # is the validation split, instead of a share.
    folds: Annotated[int, pydantic.Field(ge=2)] | None = None
    fold: Annotated[int, pydantic.Field(ge=0)] = 0

    @pydantic.model_validator(mode="after")
    def _groups_and_times_have_a_column(self) -> Self:
        if self.by != "hash" and self.key is None:
            raise ValueError(
                f'by = "{self.by}" needs the column that it goes by. Received: no key. '
                "Set data.splits.key to its name."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _folds_make_sense(self) -> Self:
        if self.folds is None and self.fold:
            raise ValueError(
                f"fold needs folds, the number of parts. Received: fold = {self.fold}, no folds."
            )
        if self.folds is not None and self.fold >= self.folds:
            raise ValueError(
                f"fold must be below folds. Received: fold = {self.fold}, folds = {self.folds}."
            )
        if self.folds is not None and self.by == "time":
            raise ValueError(
                'folds needs by = "hash" or by = "group", since a fold amid the others would look '
                'into the future. Received: by = "time". Remove one of them.'
            )
        return self

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
    """The data of a recipe: one source, one kind of input, and a label or a target."""

    source: Source
    image: ImageFeature | None = None
    text: TextFeature | None = None
    audio: AudioFeature | None = None
    table: TableFeature | None = None
    # Its own columns say what is forecast, so that it has neither label nor target.
    series: SeriesFeature | None = None
    label: LabelFeature | None = None
    target: TargetFeature | None = None
    splits: SplitConfig = SplitConfig()
    rejects: RejectConfig = RejectConfig()

    @pydantic.model_validator(mode="after")
    def _has_one_input(self) -> Self:
        found = [name for name in _INPUTS if getattr(self, name) is not None]
        if len(found) != 1:
            raise ValueError(
                f"data must have one of the tables {', '.join(_INPUTS)}. "
                f"Received: {', '.join(found) or 'none of them'}."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        answers = [name for name in ("label", "target") if getattr(self, name) is not None]
        expected = 0 if self.series else 1
        if len(answers) != expected:
            raise ValueError(
                "data must have either a table label or a table target, and neither beside series. "
                f"Received: {', '.join(answers) or 'neither'}."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _source_has_the_input(self) -> Self:
        expected = _SOURCE_INPUTS.get(self.source.kind)
        if expected is not None and self.input_name != expected:
            raise ValueError(
                f'data.source.kind = "{self.source.kind}" needs the table data.{expected}. '
                f"Received: data.{self.input_name}. Change the source or the input."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _key_is_in_a_column(self) -> Self:
        if self.splits.key is not None and not isinstance(self.source, FilesSource | TfdsSource):
            raise ValueError(
                "data.splits.key needs a source with columns. Received: data.source.kind = "
                f'"{self.source.kind}". Remove data.splits.key and data.splits.by.'
            )
        return self

    @pydantic.model_validator(mode="after")
    def _series_lies_in_files(self) -> Self:
        if self.series and not isinstance(self.source, FilesSource):
            raise ValueError(
                "A series needs files of rows: csv, parquet, jsonl, tfrecord or numpy. "
                f'Received: data.source.kind = "{self.source.kind}". Write it as one of these.'
            )
        return self

    @pydantic.model_validator(mode="after")
    def _series_split_by_time(self) -> Self:
        if self.series and (self.splits.by, self.splits.key) != ("time", self.series.time):
            raise ValueError(
                'A series must be split by time: data.splits.by = "time" and key = '
                f'"{self.series.time}". Received: by = "{self.splits.by}", '
                f"key = {self.splits.key!r}. Correct data.splits."
            )
        return self

    @property
    def input(self) -> Input:
        """The one input that the recipe has."""
        found: Input = getattr(self, self.input_name)
        return found

    @property
    def input_name(self) -> str:
        """The name of its table: image, text, audio, table or series."""
        return next(name for name in _INPUTS if getattr(self, name) is not None)

    @property
    def answer_name(self) -> str | None:
        """The name of the table that says what is predicted: label, target, or none of a series."""
        return next((name for name in ("label", "target") if getattr(self, name) is not None), None)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; none if numbers are predicted."""
        return self.label.class_names if self.label else ()

    @property
    def predicts_numbers(self) -> bool:
        """True if the answers are numbers, False if they are classes."""
        return self.label is None

    @property
    def num_numbers(self) -> int:
        """How many numbers are predicted for an example; 0 if classes are."""
        if not self.predicts_numbers:
            return 0
        return self.series.horizon_steps if self.series else 1

    def image_feature(self) -> ImageFeature:
        """Returns the input image.

        Raises:
            ValueError: If the recipe's input is of another kind.
        """
        return _present("image", self.image)

    def audio_feature(self) -> AudioFeature:
        """Returns the input recording.

        Raises:
            ValueError: If the recipe's input is of another kind.
        """
        return _present("audio", self.audio)

    def label_feature(self) -> LabelFeature:
        """Returns the class label.

        Raises:
            ValueError: If the recipe predicts numbers.
        """
        return _present("label", self.label)


def _present(name: str, feature: FeatureT | None) -> FeatureT:
    if feature is None:
        raise ValueError(f"The recipe must have a table data.{name}. Received: none. Add it.")
    return feature
