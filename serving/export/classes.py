"""The answers of models that classify: probabilities, ids and names.

Legend: B batch, K classes.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

_LABELS_FILE = "class_names.txt"


class ClassAnswers:
    """Turns logits into answers, with the names of the classes in an asset.

    Args:
        class_names: K names, in the order of the logits.
        asset_dir: Where the asset is written, for SavedModel to copy.
    """

    # The signature of TF Serving's own method, which takes tf.Examples as `inputs`.
    signature: str | None = "classify"
    method = "tensorflow/serving/classify"

    def __init__(self, class_names: Sequence[str], asset_dir: pathlib.Path):
        self._num_classes = len(class_names)
        self._labels = _label_table(class_names, asset_dir)
        self.tracked: tuple[Any, ...] = (self._labels,)

    def answer(self, outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns `probabilities` float32 (B, K), `class_ids` int64 (B,), `classes` string (B,)."""
        logits_BK = tf.cast(outputs["logits"], tf.float32)
        class_ids_B = tf.argmax(logits_BK, axis=-1)
        return {
            "probabilities": tf.nn.softmax(logits_BK),
            "class_ids": class_ids_B,
            "classes": self._labels.lookup(class_ids_B),
        }

    def method_answer(self, answer: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns what the Classify method wants: all K classes with their scores."""
        scores_BK = answer["probabilities"]
        names_K = self._labels.lookup(tf.range(self._num_classes, dtype=tf.int64))
        return {"classes": tf.broadcast_to(names_K, tf.shape(scores_BK)), "scores": scores_BK}


def check(model: keras.Model, class_names: Sequence[str]) -> None:
    """Checks that a model's outputs and the names fit each other.

    Raises:
        ValueError: If the model gives no logits, or a name is missing or cannot stand on a line.
    """
    outputs = getattr(model, "output", None)  # A Sequential that was never called has none.
    if not isinstance(outputs, dict) or set(outputs) != {"logits"}:
        raise ValueError(f"The model must return {{'logits': (B, K)}}. Received: output={outputs}.")
    num_classes = outputs["logits"].shape[-1]
    if len(class_names) != num_classes:
        raise ValueError(
            f"There must be one class name for each of the {num_classes} logits. "
            f"Received: len(class_names)={len(class_names)}."
        )
    # The asset has one name on each line.
    bad = [name for name in class_names if not name or len(name.splitlines()) != 1 or "\0" in name]
    if bad:
        raise ValueError(
            f"A class name must be a non-empty text without line breaks. Received: {bad}."
        )


def _label_table(class_names: Sequence[str], asset_dir: pathlib.Path) -> tf.lookup.StaticHashTable:
    """Makes the table that reads the names from the asset, which SavedModel copies along."""
    path = asset_dir / _LABELS_FILE
    path.write_text("".join(f"{name}\n" for name in class_names), encoding="utf-8")
    initializer = tf.lookup.TextFileInitializer(
        str(path),
        key_dtype=tf.int64,
        key_index=tf.lookup.TextFileIndex.LINE_NUMBER,
        value_dtype=tf.string,
        value_index=tf.lookup.TextFileIndex.WHOLE_LINE,
    )
    return tf.lookup.StaticHashTable(initializer, default_value="")
