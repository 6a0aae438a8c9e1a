"""SpecAugment (https://arxiv.org/abs/1904.08779): hides bands and moments of a spectrogram.

Axes: B batch, T frames, M mel bands.
"""

from typing import Any

import keras

from models.blocks.heads import Tensor


@keras.saving.register_keras_serializable("kerasline")
class SpecAugment(keras.layers.Layer):
    """Sets bands of frequencies and stretches of time to 0, in training only.

    As in the paper, a mask's width is drawn from [0, limit) and its place from where it fits; each
    example has draws of its own.

    Args:
        num_frequency_masks: Masks over the mel bands, >= 0.
        max_frequency_share: Widest of them, as a share of the bands, in (0, 1].
        num_time_masks: Masks over the frames, >= 0.
        max_time_share: Longest of them, as a share of the frames, in (0, 1].
        seed: Seed of the draws.
    """

    def __init__(
        self,
        *,
        num_frequency_masks: int,
        max_frequency_share: float,
        num_time_masks: int,
        max_time_share: float,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_frequency_masks = num_frequency_masks
        self.max_frequency_share = max_frequency_share
        self.num_time_masks = num_time_masks
        self.max_time_share = max_time_share
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, x_BTM: Tensor, training: bool = False) -> Tensor:
        """Masks spectrograms (B, T, M), whose mean should be 0; returns the same shape."""
        if not training:
            return x_BTM
        for _ in range(self.num_time_masks):
            is_hidden_BT = self._draw(x_BTM, axis=1, max_share=self.max_time_share)
            x_BTM = keras.ops.where(is_hidden_BT[:, :, None], 0.0, x_BTM)
        for _ in range(self.num_frequency_masks):
            is_hidden_BM = self._draw(x_BTM, axis=2, max_share=self.max_frequency_share)
            x_BTM = keras.ops.where(is_hidden_BM[:, None, :], 0.0, x_BTM)
        return x_BTM

    def _draw(self, x_BTM: Tensor, *, axis: int, max_share: float) -> Tensor:
        """Draws a mask over one axis for each example: bool (B, size)."""
        size = x_BTM.shape[axis]
        shares_2B1 = keras.random.uniform(
            (2, keras.ops.shape(x_BTM)[0], 1), dtype="float32", seed=self.seed_generator
        )
        width_B1 = keras.ops.floor(shares_2B1[0] * max_share * size)
        start_B1 = keras.ops.floor(shares_2B1[1] * (size - width_B1 + 1))
        places_S = keras.ops.arange(size, dtype="float32")
        return keras.ops.logical_and(places_S >= start_B1, places_S < start_B1 + width_B1)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that make an equal layer."""
        return {
            **super().get_config(),
            "num_frequency_masks": self.num_frequency_masks,
            "max_frequency_share": self.max_frequency_share,
            "num_time_masks": self.num_time_masks,
            "max_time_share": self.max_time_share,
            "seed": self.seed,
        }
