"""Fits the simple learner of a recipe's input and asks it about the test split.

Rows of training are bounded and taken evenly, so that neither time nor memory grows with the data.

Legend: B batch, R rows of training, N rows of test, F features.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline import decoding
from components.reference.answers import Answers
from components.reference.trees import Trees
from components.reference.words import Words
from components.transform.fitted import AnyFitted, FittedTable

_ROWS_PER_BATCH = 4096

# Features of some rows: an array or a sparse matrix (B, F); and their answers (B,).
Batch = tuple[Any, np.ndarray]


class Learner(Protocol):
    """A simple learner.

    Attributes:
        name: What it is, in the plural.
        advice: What to do if it is better than the model.
        max_rows: How many rows of training it takes.
    """

    name: str
    advice: str
    max_rows: int

    def features(self, serialized_B: tf.Tensor) -> Batch:
        """Returns the features and answers of serialized examples (B,)."""

    def fit(self, batches: Iterator[Batch]) -> None:
        """Learns from the rows of training."""

    def answer(self, features_BF: Any) -> np.ndarray:
        """Returns a label or a number for each row, (B,)."""


def learn(
    data: DataConfig,
    fitted: AnyFitted,
    *,
    train_shards: Sequence[str],
    test_shards: Sequence[str],
) -> Answers:
    """Fits boosted trees to a table, or a linear model to words.

    Args:
        data: The recipe's data, with a table or a text.
        fitted: What was learned of the training split: the model's own preprocessing.
        train_shards: Shards of the training split.
        test_shards: Shards of the test split, all of whose rows are answered.
    """
    num_classes = 0 if data.predicts_numbers else len(data.class_names)
    decoder = decoding.Decoder(data, fitted)
    learner: Learner
    if isinstance(fitted, FittedTable):
        learner = Trees(decoder, fitted, num_classes=num_classes)
    else:
        learner = Words(num_classes=num_classes)
    records = tf.data.TFRecordDataset(sorted(train_shards))
    num_rows = int(records.reduce(np.int64(0), lambda count, _: count + 1))
    stride = max(1, -(-num_rows // learner.max_rows))
    learner.fit(_batches(learner, records.shard(stride, 0)))
    test = tf.data.TFRecordDataset(sorted(test_shards))
    found = [learner.answer(features_BF) for features_BF, _ in _batches(learner, test)]
    return Answers(
        name=learner.name,
        advice=learner.advice,
        num_train=-(-num_rows // stride),
        answers_N=np.concatenate(found),
    )


def _batches(learner: Learner, records: tf.data.Dataset) -> Iterator[Batch]:
    for serialized_B in records.batch(_ROWS_PER_BATCH).prefetch(1):
        yield learner.features(serialized_B)
