"""The answers of models that predict numbers.

Legend: B batch, N numbers.
"""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf


class NumberAnswers:
    """Gives predictions in the target's own unit.

    Args:
        num_numbers: Numbers N of an example; TF Serving's Regress method knows models of one alone.
    """

    method = "tensorflow/serving/regress"
    tracked: tuple[Any, ...] = ()

    def __init__(self, num_numbers: int):
        self.signature = "regress" if num_numbers == 1 else None

    def answer(self, outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns `predictions` float32 (B, N)."""
        return {"predictions": tf.cast(outputs["predictions"], tf.float32)}

    def method_answer(self, answer: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns what the Regress method wants: `outputs` float32 (B, 1)."""
        return {"outputs": answer["predictions"]}


def predicts_numbers(model: keras.Model) -> bool:
    """Says whether a model returns `{"predictions": (B, N)}`."""
    outputs = getattr(model, "output", None)  # A Sequential that was never called has none.
    return isinstance(outputs, dict) and set(outputs) == {"predictions"}
