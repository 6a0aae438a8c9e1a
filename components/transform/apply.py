"""Turns raw values into what the model reads, in the graph.

The one piece of code that training, evaluation and the exported model share: what a model learned
from is what it is asked with, bit for bit.

Axes: B batch, T tokens or steps of the past, C channels, N columns of numbers, M columns of
categories.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import tensorflow as tf

from components.ingest.config import DataConfig
from components.ingest.features.config import (
    AUDIO_FEATURE,
    HISTORY_FEATURE,
    IMAGE_FEATURE,
    TEXT_FEATURE,
    AudioFeature,
    ImageFeature,
    SeriesFeature,
)
from components.transform import raw, words
from components.transform.fitted import AnyFitted, FittedTable, FittedText, NumberStatistics
from models import inputs
from serving.export import preprocessing, recordings

# A tensor, or several by the names of the model's inputs.
Inputs: TypeAlias = tf.Tensor | dict[str, tf.Tensor]
_UNKNOWN_ID = 1


class Apply(Protocol):
    """A function from raw values to model inputs."""

    @property
    def inputs(self) -> inputs.InputSpec:
        """What it returns."""

    def __call__(self, values: raw.RawValues) -> Inputs:
        """Turns raw values, as `raw.raw_specs` describes them, into model inputs."""


def make_apply(data: DataConfig, fitted: AnyFitted | None) -> Apply:
    """Makes the function for a recipe's input.

    Args:
        data: The recipe's data.
        fitted: What was learned of the training split; None if the input needs nothing.

    Raises:
        ValueError: If `fitted` does not belong to the input.
    """
    match data.input, fitted:
        case ImageFeature() as image, None:
            return ApplyImage(image)
        case AudioFeature() as audio, None:
            return ApplyAudio(audio)
        case SeriesFeature() as series, None:
            return ApplySeries(series)
        case _, FittedText() if data.text is not None:
            return ApplyText(fitted, max_tokens=data.text.max_tokens)
        case _, FittedTable() if data.table is not None:
            return ApplyTable(fitted)
    raise ValueError(
        f"The input data.{data.input_name} needs what was fitted for it. "
        f"Received: {None if fitted is None else fitted.kind!r}. Fit it on the training split."
    )


class ApplyImage:
    """Encoded images to pixels: uint8 (B, H, W, C)."""

    def __init__(self, image: ImageFeature):
        self.inputs = inputs.ImageInput(
            height_px=image.height_px, width_px=image.width_px, channels=image.channels
        )

    def __call__(self, values: raw.RawValues) -> tf.Tensor:
        """Decodes `image`; see `preprocessing.decode_images`."""
        return preprocessing.decode_images(
            values[IMAGE_FEATURE],
            height_px=self.inputs.height_px,
            width_px=self.inputs.width_px,
            channels=self.inputs.channels,
        )


class ApplySeries:
    """The past of a series as it is: models of series standardise each window themselves."""

    def __init__(self, series: SeriesFeature):
        self.inputs = inputs.SeriesInput(
            history_steps=series.history_steps, num_channels=series.num_channels
        )

    def __call__(self, values: raw.RawValues) -> tf.Tensor:
        """Returns `history`, float32 (B, T, C)."""
        return values[HISTORY_FEATURE]


class ApplyAudio:
    """Encoded recordings to samples: float32 in [-1, 1], (B, samples)."""

    def __init__(self, audio: AudioFeature):
        self.inputs = inputs.AudioInput(
            num_samples=audio.num_samples, sample_rate_hz=audio.sample_rate_hz
        )

    def __call__(self, values: raw.RawValues) -> tf.Tensor:
        """Decodes `audio`; see `recordings.decode_recordings`."""
        return recordings.decode_recordings(
            values[AUDIO_FEATURE],
            sample_rate_hz=self.inputs.sample_rate_hz,
            num_samples=self.inputs.num_samples,
        )


class ApplyText(tf.Module):
    """Texts to token ids: int32 (B, T); 0 is padding and 1 a word outside the vocabulary."""

    def __init__(self, fitted: FittedText, *, max_tokens: int):
        super().__init__()
        self.inputs = inputs.TokensInput(
            vocabulary_size=len(fitted.words) + 2, max_tokens=max_tokens
        )
        self._ids = _id_table(fitted.words)

    def __call__(self, values: raw.RawValues) -> tf.Tensor:
        """Splits `text` into words and looks them up; what is too long is cut off."""
        words_BW = words.split_words(values[TEXT_FEATURE])
        ids_BW = words_BW.with_flat_values(self._ids.lookup(words_BW.flat_values))
        return ids_BW.to_tensor(0, shape=(None, self.inputs.max_tokens))


class ApplyTable(tf.Module):
    """Columns to `numbers`, `category_ids` and the rest that `models.inputs.TableInput` names."""

    def __init__(self, fitted: FittedTable):
        super().__init__()
        self.inputs = inputs.TableInput(
            numbers=tuple(fitted.numbers),
            categories={name: len(values) + 2 for name, values in fitted.categories.items()},
            sequences={
                name: (found.length, len(found.channels))
                for name, found in fitted.sequences.items()
            },
        )
        self._numbers = tuple(fitted.numbers.values())
        self._channels = {name: found.channels for name, found in fitted.sequences.items()}
        self._ids = {name: _id_table(values) for name, values in fitted.categories.items()}

    def __call__(self, values: raw.RawValues) -> dict[str, tf.Tensor]:
        """Standardises the numbers and looks up the categories."""
        result = {}
        if self.inputs.numbers:
            numbers_BN = tf.stack([values[name] for name in self.inputs.numbers], axis=1)
            result["numbers"], result["is_missing"] = _standardise(numbers_BN, self._numbers)
        if self._ids:
            ids = [self._look_up(name, values[name]) for name in self._ids]
            result["category_ids"] = tf.stack(ids, axis=1)
        for place, name in enumerate(self._channels):
            numbers_BTC = tf.reshape(values[name], (-1, *self.inputs.sequences[name]))
            key, missing_key = self.inputs.sequence_keys(place)
            result[key], result[missing_key] = _standardise(numbers_BTC, self._channels[name])
        return result

    def _look_up(self, name: str, values_B: tf.Tensor) -> tf.Tensor:
        ids_B = self._ids[name].lookup(words.valid_utf8(values_B))
        return tf.where(values_B == "", 0, ids_B)


def _standardise(
    numbers: tf.Tensor, statistics: Sequence[NumberStatistics]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Standardises along the last axis; returns 0 where a number is missing, and where one is."""
    is_there = tf.math.is_finite(numbers)
    means = tf.constant([found.mean for found in statistics])
    # A factor, because a division may be optimised into one in one graph and not in another.
    factors = tf.constant([1.0 / found.deviation for found in statistics])
    standard = tf.where(is_there, (numbers - means) * factors, 0.0)
    return standard, tf.cast(~is_there, tf.float32)


def _id_table(values: Sequence[str]) -> tf.lookup.StaticHashTable:
    """Makes the table of ids from 2 on; what is not in it has the id 1."""
    initializer = tf.lookup.KeyValueTensorInitializer(
        tf.constant(list(values)), tf.range(2, len(values) + 2)
    )
    return tf.lookup.StaticHashTable(initializer, default_value=_UNKNOWN_ID)
