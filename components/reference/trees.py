"""Gradient-boosted trees over the columns of a table.

On tables of some thousand rows they are usually better than a network
(https://arxiv.org/abs/2207.08815).

Legend: B batch, R rows of training, F columns.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import sklearn.ensemble
import tensorflow as tf
import threadpoolctl

from components.input_pipeline.decoding import Decoder
from components.transform.fitted import FittedTable
from models.inputs import TableInput

_UNKNOWN_ID = 1
# scikit-learn tells no more names apart in a column; the model's ids begin with the frequent ones.
_MAX_CODES = 255
_MAX_TREES, _MIN_ITERATIONS = 1000, 10
_MAX_ITERATIONS = 100
# Of numbers. Where most targets are equal, as tips are, absolute errors teach the trees nothing.
_LOSSES = ("absolute_error", "squared_error")
# One row of so many decides between the two.
_HELD_OUT = 10


class Trees:
    """scikit-learn's histogram gradient boosting, with its default settings.

    Of numbers, the loss is the one that has the smaller mean absolute error on rows of training
    that were held out.

    Args:
        decoder: The model's own preprocessing.
        fitted: What that learned of the training split.
        num_classes: 0 to predict numbers.
    """

    name = "boosted trees"
    advice = "Trees do better on this table: use them."
    max_rows = 200_000

    def __init__(self, decoder: Decoder, fitted: FittedTable, *, num_classes: int):
        self._decoder = decoder
        in_lists = sum(found.length * len(found.channels) for found in fitted.sequences.values())
        num_numbers = len(fitted.numbers) + in_lists
        is_category_F = [False] * num_numbers + [True] * len(fitted.categories)
        self._settings = {"categorical_features": is_category_F, "random_state": 0}
        self._num_classes = num_classes
        self._num_lists = len(fitted.sequences)
        self._learner: Any = None

    def features(self, serialized_B: tf.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Returns numbers, NaN where missing, and then ids of names, as the model is given them.

        Each number of a list is a column.
        """
        inputs, answers_B = self._decoder(serialized_B)
        keys = map(TableInput.sequence_keys, range(self._num_lists))
        parts = []
        for key, missing_key in [("numbers", "is_missing"), *keys]:
            if key in inputs:
                missing = inputs[missing_key].numpy() > 0
                values = np.where(missing, np.nan, inputs[key].numpy())
                parts.append(values.reshape(len(values), -1))
        if "category_ids" in inputs:
            ids_BF = inputs["category_ids"].numpy()
            parts.append(np.where(ids_BF < _MAX_CODES, ids_BF, _UNKNOWN_ID).astype(np.float32))
        return np.concatenate(parts, axis=1), answers_B.numpy().reshape(len(answers_B))

    def fit(self, batches: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
        """Grows the trees."""
        features, answers = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        # Two threads are no faster on 12,000 rows (0.25 s), and on a busy machine they wait for
        # each other, up to ten times as long.
        with threadpoolctl.threadpool_limits(1, user_api="openmp"):
            learner = (
                self._classifier() if self._num_classes else self._regressor(features, answers)
            )
            self._learner = learner.fit(features, answers)

    def _classifier(self) -> Any:
        # Of more than two classes each has its own trees.
        num_parallel = self._num_classes if self._num_classes > 2 else 1
        iterations = min(max(_MAX_TREES // num_parallel, _MIN_ITERATIONS), _MAX_ITERATIONS)
        return sklearn.ensemble.HistGradientBoostingClassifier(
            max_iter=iterations, **self._settings
        )

    def _regressor(self, features_RF: np.ndarray, targets_R: np.ndarray) -> Any:
        held_out_R = np.arange(len(targets_R)) % _HELD_OUT == 0
        errors = {}
        for loss in _LOSSES:
            learner = sklearn.ensemble.HistGradientBoostingRegressor(loss=loss, **self._settings)
            learner.fit(features_RF[~held_out_R], targets_R[~held_out_R])
            found = learner.predict(features_RF[held_out_R])
            errors[loss] = np.abs(found - targets_R[held_out_R]).mean()
        best = min(_LOSSES, key=errors.__getitem__)
        return sklearn.ensemble.HistGradientBoostingRegressor(loss=best, **self._settings)

    def answer(self, features_BF: np.ndarray) -> np.ndarray:
        """Returns a label or a number for each row."""
        found_B: np.ndarray = self._learner.predict(features_BF)
        return found_B
