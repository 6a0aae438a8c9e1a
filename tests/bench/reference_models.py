"""The small models on which training is measured, on any backend of Keras.

Axes: B batch, H height, W width, C channels, T tokens.
"""

import dataclasses

import keras
import numpy as np

from models import config, inputs, registry
from models.blocks import heads

InputSpec = inputs.ImageInput | inputs.TokensInput


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reference:
    """A model with what it reads, how many classes it tells apart and its batch size."""

    model: config.AnyModelConfig
    inputs: InputSpec
    num_classes: int
    batch_size: int

    def head(self) -> heads.Head:
        """Returns what the model ends with."""
        return heads.Classes(num_classes=self.num_classes)

    def build(self) -> keras.Model:
        """Builds the model under the dtype policy that is set."""
        return registry.build_model(self.model, inputs=self.inputs, head=self.head())

    def batches(self, num_batches: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns random inputs and labels, the batches behind each other."""
        generator = np.random.default_rng(0)
        num_rows = num_batches * self.batch_size
        labels_B = generator.integers(0, self.num_classes, num_rows)
        if isinstance(self.inputs, inputs.ImageInput):
            pixels_BHWC = generator.integers(0, 256, (num_rows, *self.inputs.shape))
            return pixels_BHWC.astype("float32"), labels_B
        shape = (num_rows, self.inputs.max_tokens)
        token_ids_BT = generator.integers(1, self.inputs.vocabulary_size, shape)
        return token_ids_BT.astype("int32"), labels_B


REFERENCES = {
    "cnn": Reference(
        model=config.CnnConfig(architecture="cnn"),
        inputs=inputs.ImageInput(height_px=28, width_px=28, channels=1),
        num_classes=10,
        batch_size=128,
    ),
    "transformer": Reference(
        # Without dropout, so that other programs can be held to the same losses.
        model=config.TransformerConfig(
            architecture="transformer", positions="learned", dropout_rate=0.0
        ),
        inputs=inputs.TokensInput(vocabulary_size=8_000, max_tokens=64),
        num_classes=2,
        batch_size=64,
    ),
    "mlp": Reference(
        model=config.MlpConfig(architecture="mlp"),
        inputs=inputs.ImageInput(height_px=8, width_px=8, channels=1),
        num_classes=10,
        batch_size=32,
    ),
}
