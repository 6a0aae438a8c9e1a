"""Rules that answer from one value alone, learned on training and counted on validation.

What one value gives away nearly alone is either an easy task or, far more often, a leak:
R. C. Holte, "Very simple classification rules perform well on most commonly used datasets" (1993),
https://doi.org/10.1023/A:1022631118932.

Legend: R rows of training, V rows of validation.
"""

from typing import NamedTuple

import numpy as np

# A number is answered by the training rows whose numbers are next to it, an odd count of them.
_NUM_NEIGHBOURS = 9
# Columns of more different numbers are not taken for codes.
_MAX_CODES = 1000


class Score(NamedTuple):
    """How well a rule does on validation.

    Attributes:
        accuracy: Share of right labels; of targets the same as `avoided`.
        avoided: Share of the errors of always giving the most frequent label (of the squared errors
            of always giving the mean target) that the rule avoids; negative if it makes more.
    """

    accuracy: float
    avoided: float


class Answers(NamedTuple):
    """What is to be told: indexes of classes, or targets if `num_classes` is 0."""

    train_R: np.ndarray
    validation_V: np.ndarray
    num_classes: int

    def score(self, guesses_V: np.ndarray) -> Score:
        """Compares guesses with the answers of validation."""
        usual = _most_frequent(self.train_R, self.num_classes)
        if self.num_classes:
            accuracy = float(np.mean(guesses_V == self.validation_V))
            return Score(accuracy, _avoided(1 - accuracy, np.mean(self.validation_V != usual)))
        error, usual_error = (
            np.sum((self.validation_V - values) ** 2) for values in (guesses_V, usual)
        )
        avoided = _avoided(error, usual_error)
        return Score(avoided, avoided)


def _most_frequent(answers_R: np.ndarray, num_classes: int) -> float:
    if num_classes:
        return int(np.bincount(answers_R, minlength=num_classes).argmax())
    return float(answers_R.mean(dtype=np.float64))


def _avoided(error: float, usual_error: float) -> float:
    return float(1 - error / usual_error) if usual_error else 0.0


def score_cells(
    train_R: np.ndarray, validation_V: np.ndarray, answers: Answers, num_cells: int
) -> Score:
    """Scores the rule that gives the usual answer of each value.

    Args:
        train_R: Values of training, integers in [0, num_cells).
        validation_V: The same of validation; a value that training lacks gets the usual answer.
        answers: What is to be told.
        num_cells: How many values there are.
    """
    if answers.num_classes:
        cells = train_R.astype(np.int64) * answers.num_classes + answers.train_R
        size = num_cells, answers.num_classes
        counts = np.bincount(cells, minlength=size[0] * size[1]).reshape(size)
        guesses, is_known = counts.argmax(1), counts.any(1)
    else:
        counts = np.bincount(train_R, minlength=num_cells)
        sums = np.bincount(train_R, answers.train_R, minlength=num_cells)
        guesses, is_known = sums / np.maximum(1, counts), counts > 0
    guesses = np.where(is_known, guesses, _most_frequent(answers.train_R, answers.num_classes))
    return answers.score(guesses[validation_V])


def score_names(train_R: np.ndarray, validation_V: np.ndarray, answers: Answers) -> Score:
    """Scores the rule that gives the usual answer of each name, or code."""
    values = np.unique(np.concatenate([train_R, validation_V]))
    cells = np.searchsorted(values, train_R), np.searchsorted(values, validation_V)
    return score_cells(*cells, answers, len(values))


def score_numbers(train_R: np.ndarray, validation_V: np.ndarray, answers: Answers) -> Score:
    """Scores the better one of two rules: numbers as codes, and what the nearest numbers have."""
    train_R, validation_V = (
        np.nan_to_num(values, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        for values in (train_R, validation_V)
    )
    scores = [_score_nearest(train_R, validation_V, answers)]
    if len(np.unique(train_R)) <= _MAX_CODES:
        scores.append(score_names(train_R, validation_V, answers))
    return max(scores, key=lambda score: score.avoided)


def _score_nearest(train_R: np.ndarray, validation_V: np.ndarray, answers: Answers) -> Score:
    order = np.argsort(train_R, kind="stable")
    places_V = np.searchsorted(train_R[order], validation_V)
    width = min(_NUM_NEIGHBOURS, len(train_R))
    first_V = np.clip(places_V - width // 2, 0, len(train_R) - width)
    near = answers.train_R[order][first_V[:, None] + np.arange(width)]
    if not answers.num_classes:
        return answers.score(near.mean(1, dtype=np.float64))
    cells = np.arange(len(near))[:, None] * answers.num_classes + near
    size = len(near), answers.num_classes
    counts = np.bincount(cells.ravel(), minlength=size[0] * size[1]).reshape(size)
    return answers.score(counts.argmax(1))
