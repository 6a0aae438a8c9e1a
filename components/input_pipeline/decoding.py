"""Serialised tf.Examples to what a model reads and what it should answer.

Axes: B batch, N numbers.
"""

import tensorflow as tf

from components.ingest.config import DataConfig
from components.ingest.features.config import LABEL_FEATURE, TARGET_FEATURE
from components.transform import apply, raw
from components.transform.fitted import AnyFitted
from models import inputs


class Decoder:
    """Parses a whole batch at once and applies the preprocessing that serving has too.

    Args:
        data: The recipe's data.
        fitted: What was learned of the training split; None if the input needs nothing.

    Raises:
        ValueError: If the input needs what was not fitted.
    """

    def __init__(self, data: DataConfig, fitted: AnyFitted | None = None):
        self._data = data
        self._preprocess = apply.make_apply(data, fitted)
        self._answer, answer_feature = LABEL_FEATURE, tf.io.FixedLenFeature((), tf.int64)
        if data.predicts_numbers:
            self._answer = TARGET_FEATURE
            answer_feature = tf.io.FixedLenFeature((data.num_numbers,), tf.float32)
        self._features = {**raw.example_features(data), self._answer: answer_feature}

    @property
    def inputs(self) -> inputs.InputSpec:
        """What the model reads."""
        return self._preprocess.inputs

    def __call__(self, serialized_B: tf.Tensor) -> tuple[apply.Inputs, tf.Tensor]:
        """Decodes examples.

        Args:
            serialized_B: Strings (B,).

        Returns:
            The model's inputs, one tensor or several by name, and int64 labels (B,) or float32
            targets (B, N).
        """
        parsed = tf.io.parse_example(serialized_B, self._features)
        values = raw.raw_values(parsed, self._data)
        return self._preprocess(values), parsed[self._answer]
