"""What an example holds: the input, one kind to a recipe, and the label or the target.

In the ingested tf.Examples an image, a text or a recording lies under its own kind's name, a
table's columns under the names that they have in the source, a label under LABEL_FEATURE, a target
under TARGET_FEATURE, and the past of a series under HISTORY_FEATURE.
"""

import re
from typing import Annotated, Literal, Self

import pydantic

from models.base_config import StrictConfig

IMAGE_FEATURE, TEXT_FEATURE, AUDIO_FEATURE = "image", "text", "audio"
HISTORY_FEATURE = "history"
LABEL_FEATURE, TARGET_FEATURE = "label", "target"
KEY_FEATURE = "key"
# What the data guard asks for: which rows belong together, and when a row is from (seconds).
GROUP_FEATURE, TIME_FEATURE = "group", "time"
RESERVED_NAMES = frozenset(
    {LABEL_FEATURE, TARGET_FEATURE, KEY_FEATURE, GROUP_FEATURE, TIME_FEATURE}
)

PositiveInt = Annotated[int, pydantic.Field(gt=0)]
_UNSERVED = re.compile(r"[^A-Za-z0-9_.-]")


class ImageFeature(StrictConfig):
    """The input image; pixels are uint8 in [0, 255]."""

    # Its name in the source; in the ingested examples it is always IMAGE_FEATURE.
    source_name: str = "image"
    height_px: PositiveInt
    width_px: PositiveInt
    channels: Literal[1, 3]
    # False: an image of another size stops the run. True: it is stretched, in training and in
    # serving alike.
    resize: bool = False


class TextFeature(StrictConfig):
    """The input text, in UTF-8; words become token ids by a vocabulary of the training split."""

    # Its name in the source; in the ingested examples it is always TEXT_FEATURE.
    source_name: str = "text"
    # What is longer is cut off, what is shorter is padded.
    max_tokens: PositiveInt = 128
    # The most frequent words; all others share one id.
    vocabulary_size: Annotated[int, pydantic.Field(ge=2)] = 8000


class AudioFeature(StrictConfig):
    """The input recording: one channel, float32 in [-1, 1]."""

    # Its name in the source; in the ingested examples it is always AUDIO_FEATURE.
    source_name: str = "audio"
    sample_rate_hz: PositiveInt
    # What is longer is cut off, what is shorter is padded with silence.
    max_seconds: Annotated[float, pydantic.Field(gt=0.0)]
    # False: a recording of another rate stops the run. True: it is resampled when it is ingested;
    # the served model takes the recipe's rate alone.
    resample: bool = False

    @property
    def num_samples(self) -> int:
        """The length that every recording is brought to."""
        return max(1, round(self.max_seconds * self.sample_rate_hz))


class NumberColumn(StrictConfig):
    """A column of numbers, standardised by the mean and deviation of the training split."""

    kind: Literal["number"]


class CategoryColumn(StrictConfig):
    """A column of names, which become ids by a vocabulary of the training split."""

    kind: Literal["category"]
    # The most frequent values; all others share one id.
    max_values: Annotated[int, pydantic.Field(ge=1)] = 1000


class SequenceColumn(StrictConfig):
    """A column of lists of numbers, each channel standardised as a column of numbers is."""

    kind: Literal["sequence"]
    # Steps of a list.
    length: PositiveInt
    # Numbers of a step: a row holds a list of lists, or all numbers in one list, step by step.
    channels: PositiveInt = 1
    # False: a list of another length is a row that cannot be used. True: what is longer is cut off
    # at its end, and what is shorter is followed by missing steps.
    any_length: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a row's values as a client sends them: (length,), or (length, channels)."""
        return (self.length,) if self.channels == 1 else (self.length, self.channels)


Column = Annotated[
    NumberColumn | CategoryColumn | SequenceColumn, pydantic.Field(discriminator="kind")
]


class TableFeature(StrictConfig):
    """The input columns of a table, by their names in the source; a missing value is allowed."""

    columns: Annotated[dict[str, Column], pydantic.Field(min_length=1)]

    @pydantic.field_validator("columns")
    @classmethod
    def _names_are_free(cls, columns: dict[str, Column]) -> dict[str, Column]:
        if taken := sorted(RESERVED_NAMES & columns.keys()):
            raise ValueError(
                f"columns must not be called {', '.join(sorted(RESERVED_NAMES))}, since examples "
                f"hold other things under these names. Received: {', '.join(taken)}. "
                "Rename them in the source."
            )
        return columns

    @pydantic.model_validator(mode="after")
    def _served_names_differ(self) -> Self:
        owners: dict[str, str] = {}
        for name, served in self.served_names().items():
            # TensorFlow tells names apart without regard to case.
            other = owners.setdefault(served.lower(), name)
            if other != name:
                raise ValueError(
                    "columns must differ in more than case and signs, since the served model calls "
                    f"them by letters, digits, _, . and - alone. Received: {other!r} and {name!r}, "
                    f"both served as {served!r}. Rename one in the source."
                )
        return self

    def served_names(self) -> dict[str, str]:
        """Returns each column's name in the served model, which only some characters are valid in.

        >>> columns = dict.fromkeys(("fare", "miles (km)"), {"kind": "number"})
        >>> TableFeature.from_dict({"columns": columns}).served_names()
        {'fare': 'fare', 'miles (km)': 'miles__km_'}
        """
        served = {name: _UNSERVED.sub("_", name) for name in self.columns}
        # TensorFlow lets no name begin with another sign.
        return {name: text if text[:1].isalnum() else f"x{text}" for name, text in served.items()}

    def numbers(self) -> tuple[str, ...]:
        """Returns the names of the columns of numbers, in the recipe's order."""
        return tuple(name for name, column in self.columns.items() if column.kind == "number")

    def categories(self) -> tuple[str, ...]:
        """Returns the names of the columns of names, in the recipe's order."""
        return tuple(name for name, column in self.columns.items() if column.kind == "category")

    def sequences(self) -> dict[str, SequenceColumn]:
        """Returns the columns of lists of numbers by their names, in the recipe's order."""
        return {
            name: column
            for name, column in self.columns.items()
            if isinstance(column, SequenceColumn)
        }

    def max_values(self) -> dict[str, int]:
        """Returns how many values are told apart in each column of names, in the same order."""
        return {
            name: column.max_values
            for name, column in self.columns.items()
            if isinstance(column, CategoryColumn)
        }


class SeriesFeature(StrictConfig):
    """Windows of a series of regular steps: the past is the input, the future is the target."""

    # Columns of the source: when, what is forecast, what else is known of the past, and which
    # series a row belongs to if there are several.
    time: str
    value: str
    covariates: tuple[str, ...] = ()
    series: str | None = None
    history_steps: PositiveInt
    horizon_steps: PositiveInt
    # Steps after which the series repeats, such as 48 half-hours; the simple forecast to beat is
    # the value of one period before.
    period_steps: PositiveInt = 1
    # Steps from the beginning of one window to that of the next.
    stride_steps: PositiveInt = 1

    @property
    def num_channels(self) -> int:
        """How many numbers each step of the past has: the value and its covariates."""
        return 1 + len(self.covariates)

    @pydantic.model_validator(mode="after")
    def _history_holds_a_period(self) -> Self:
        if self.period_steps > self.history_steps:
            raise ValueError(
                "history_steps must be at least period_steps, so that the simple forecast can look "
                f"one period back. Received: history_steps = {self.history_steps}, "
                f"period_steps = {self.period_steps}. Raise history_steps."
            )
        return self


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


class TargetFeature(StrictConfig):
    """The number to be predicted: float32."""

    # Its name in the source; in the ingested examples it is always TARGET_FEATURE.
    source_name: str
