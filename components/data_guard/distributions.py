"""Classes and pixels that are distributed otherwise than one would hope.

Legend: N rows, K classes.
"""

import numpy as np

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Table
from components.data_guard.findings import Finding

_MAX_EXAMPLES = 3
# A class is rare if it has less than this part of an equal share.
_RARE_PART = 0.1
_NUM_BINS = 32
# Rows for the search of a shortcut; more change nothing.
_MAX_ROWS = 50_000
# Of the Kolmogorov-Smirnov statistic at a level of 1 %.
_KS_FACTOR = 1.63


def find_blank_images(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds images of a single colour."""
    blank = np.flatnonzero(table.contrast_N == 0)
    if not len(blank):
        return []
    return [
        Finding(
            name="blank_images",
            amount=len(blank) / len(table.labels_N),
            limit=config.max_blank_share,
            sentence=f"{len(blank)} images have a single colour.",
            examples=tuple((table.key(row),) for row in blank[:_MAX_EXAMPLES]),
            cure="Remove them, or find out why they came out empty.",
        )
    ]


def find_rare_classes(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds classes with less than a tenth of an equal share of the training split."""
    del config  # Rare classes are a fact of life: per-class thresholds are what guards them.
    counts_K = _class_counts(table, "train")
    fair = counts_K.sum() / len(counts_K)
    rare = np.flatnonzero(counts_K < _RARE_PART * fair)
    if not len(rare):
        return []
    named = ", ".join(f"{table.class_names[index]} ({counts_K[index]})" for index in rare)
    return [
        Finding(
            name="rare_classes",
            amount=float(counts_K[rare].sum() / counts_K.sum()),
            limit=1.0,
            sentence=f"Rare in the training split: {named}; an equal share is {fair:.0f}.",
            cure="Add examples, and set evaluation.min_class_accuracy, which they must meet too.",
        )
    ]


def _class_counts(table: Table, split: str) -> np.ndarray:
    return np.bincount(table.labels_N[table.rows_of(split)], minlength=len(table.class_names))


def find_label_shift(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds splits whose class shares differ from the training split's by more than chance."""
    train_K = _class_counts(table, "train")
    shares_K = train_K / train_K.sum()
    found = []
    for split in SPLITS[1:]:
        counts_K = _class_counts(table, split)
        distance = np.abs(counts_K / counts_K.sum() - shares_K).sum() / 2
        variance_K = shares_K * (1 - shares_K) * (1 / counts_K.sum() + 1 / train_K.sum())
        chance = np.sqrt(variance_K).sum() / 2
        # Expected by chance is 0.8 of this; twice as much is rare.
        if distance > 2 * chance:
            found.append(
                Finding(
                    name="label_shift",
                    amount=float(distance),
                    limit=config.max_label_shift,
                    sentence=f"The class shares of {split} differ from train's by {distance:.1%}.",
                    cure="Split again, or weigh the classes when you read the metrics.",
                )
            )
    return found


def find_pixel_shift(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds splits whose images are darker, lighter, flatter or richer in contrast than train's."""
    measures = {"brightness": table.brightness_N, "contrast": table.contrast_N}
    found = []
    for split in SPLITS[1:]:
        for name, values_N in measures.items():
            train, other = values_N[table.rows_of("train")], values_N[table.rows_of(split)]
            distance = _kolmogorov_smirnov(train, other)
            if distance > _KS_FACTOR * np.sqrt(1 / len(train) + 1 / len(other)):
                found.append(
                    Finding(
                        name="pixel_shift",
                        amount=distance,
                        limit=config.max_pixel_shift,
                        sentence=f"The {name} of {split} differs from train's by {distance:.1%}.",
                        cure="Find out whether these images come from elsewhere.",
                    )
                )
    return found


def _kolmogorov_smirnov(first: np.ndarray, second: np.ndarray) -> float:
    """Returns the largest difference of two empirical distribution functions."""
    values = np.concatenate([first, second])
    left = np.searchsorted(np.sort(first), values, side="right") / len(first)
    right = np.searchsorted(np.sort(second), values, side="right") / len(second)
    return float(np.abs(left - right).max())


def find_shortcut(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds one place in the image that tells its label nearly alone, such as a mark."""
    train = np.flatnonzero(table.rows_of("train"))
    train = train[:: -(-len(train) // _MAX_ROWS)]
    validation = np.flatnonzero(table.rows_of("validation"))[:_MAX_ROWS]
    accuracies = [
        _rule_accuracy(table, train, validation, column)
        for column in range(table.greys_ND.shape[1])
    ]
    best = int(np.argmax(accuracies))
    if accuracies[best] <= config.max_shortcut_accuracy:
        return []
    side = round(len(accuracies) ** 0.5)
    place = f"row {best // side + 1} and column {best % side + 1} of a {side} x {side} grid"
    return [
        Finding(
            name="shortcut",
            amount=accuracies[best],
            limit=config.max_shortcut_accuracy,
            sentence=f"The brightness at {place} alone tells {accuracies[best]:.1%} of the labels.",
            cure="Look there for a mark, a frame or a stamp that differs by class, and remove it.",
        )
    ]


def _rule_accuracy(table: Table, train: np.ndarray, validation: np.ndarray, column: int) -> float:
    """Learns the most frequent label of each range of one value, and counts the right answers."""
    num_classes = len(table.class_names)
    bins = table.greys_ND[:, column] // (256 // _NUM_BINS)
    cells = bins[train].astype(np.int64) * num_classes + table.labels_N[train]
    counts = np.bincount(cells, minlength=_NUM_BINS * num_classes).reshape(_NUM_BINS, num_classes)
    return float((counts.argmax(1)[bins[validation]] == table.labels_N[validation]).mean())
