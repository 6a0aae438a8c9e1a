"""How a recipe's model is asked once it is exported.

Axes: B batch.
"""

from typing import Any

import tensorflow as tf

from components.ingest.config import DataConfig
from components.transform import apply, raw
from components.transform.fitted import AnyFitted
from serving.export import entries, images, recordings


class Preprocess(tf.Module):
    """The recipe's preprocessing with the names and dtypes of what it takes.

    Args:
        data: The recipe's data.
        fitted: What was learned of the training split; None if the input needs nothing.
    """

    def __init__(self, data: DataConfig, fitted: AnyFitted | None):
        super().__init__()
        # Raw name -> name in the served model.
        self._names = data.table.served_names() if data.table else {}
        self.specs = {
            self._served_name(name): tf.TensorSpec(
                spec.shape, spec.dtype, name=self._served_name(name)
            )
            for name, spec in raw.raw_specs(data).items()
        }
        self._data = data
        self._apply = apply.make_apply(data, fitted)

    def parse(self, examples_B: tf.Tensor) -> entries.Values:
        """Finds the raw values in serialized tf.Examples."""
        parsed = tf.io.parse_example(examples_B, raw.example_features(self._data))
        values = raw.raw_values(parsed, self._data)
        return {self._served_name(name): value for name, value in values.items()}

    def __call__(self, values: entries.Values) -> Any:
        """Turns raw values into model inputs."""
        names = raw.raw_specs(self._data)
        return self._apply({name: values[self._served_name(name)] for name in names})

    def _served_name(self, name: str) -> str:
        return self._names.get(name, name)


def served_input(
    data: DataConfig, fitted: AnyFitted | None, *, pixel_dtype: str = "uint8"
) -> entries.ServedInput:
    """Returns the signatures of a recipe's model.

    Args:
        data: The recipe's data.
        fitted: What was learned of the training split; None if the input needs nothing.
        pixel_dtype: Of the pixels that a model of images takes.

    Raises:
        ValueError: If `fitted` does not belong to the input.
    """
    if data.image is not None:
        shape_HWC = (data.image.height_px, data.image.width_px, data.image.channels)
        return images.served_images(shape_HWC, dtype=pixel_dtype)
    if data.audio is not None:
        return recordings.served_recordings(
            sample_rate_hz=data.audio.sample_rate_hz, num_samples=data.audio.num_samples
        )
    return entries.served_values(Preprocess(data, fitted))
