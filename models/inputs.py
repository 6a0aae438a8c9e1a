"""What a model reads: one frozen record for each kind of input, sizes included.

Axes: B batch, H height, W width, C channels, T tokens or steps, N columns of numbers, M columns of
categories.
"""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageInput:
    """`image`: pixels in [0, 255], (B, H, W, C)."""

    kind: ClassVar[str] = "image"
    height_px: int
    width_px: int
    channels: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(height, width, channels)."""
        return self.height_px, self.width_px, self.channels


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokensInput:
    """`token_ids`: int32 in [0, vocabulary_size), (B, T); 0 is padding.

    Attributes:
        vocabulary_size: Number of different tokens, padding included.
        max_tokens: Length of the longest text.
    """

    kind: ClassVar[str] = "text"
    vocabulary_size: int
    max_tokens: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableInput:
    """The columns of a table, those of a kind side by side, in the order of these names.

    `numbers` float32 (B, N), standardised, 0 where missing; `is_missing` float32 (B, N), 1 where
    missing; `category_ids` int32 (B, M). Each column of lists of numbers is two inputs of its own,
    which `sequence_keys` names: its values, float32 (B, T, C), standardised, 0 where missing, and
    float32 (B, T, C), 1 where missing. What has no columns is no input.

    Attributes:
        numbers: Names of the columns of numbers.
        categories: Name of each column of categories -> number of its ids.
        sequences: Name of each column of lists of numbers -> steps T and channels C.
    """

    kind: ClassVar[str] = "table"
    numbers: tuple[str, ...]
    categories: Mapping[str, int]
    sequences: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    @staticmethod
    def sequence_keys(place: int) -> tuple[str, str]:
        """Returns the inputs of a column of lists by its place among them, counted from 0.

        By number: a column's name need not be a valid name for a layer.

        >>> TableInput.sequence_keys(0)
        ('sequence1', 'sequence1_is_missing')
        """
        return f"sequence{place + 1}", f"sequence{place + 1}_is_missing"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeriesInput:
    """`history`: float32 (B, steps, channels), the value first and its covariates after it.

    Attributes:
        history_steps: Steps of the past.
        num_channels: The value and its covariates.
    """

    kind: ClassVar[str] = "series"
    history_steps: int
    num_channels: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class AudioInput:
    """`samples`: float32 in [-1, 1], (B, samples).

    Attributes:
        num_samples: Length of every recording.
        sample_rate_hz: Samples per second.
    """

    kind: ClassVar[str] = "audio"
    num_samples: int
    sample_rate_hz: int


InputSpec = ImageInput | TokensInput | TableInput | SeriesInput | AudioInput
