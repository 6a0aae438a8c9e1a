"""Near copies: rows that are not equal but hardly differ, whatever the kind of input.

Legend: N rows, P pairs.
"""

from collections.abc import Callable

import numpy as np

from components.data_guard import (
    near_images,
    near_recordings,
    near_rows,
    near_texts,
    near_windows,
)
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.duplicates import Copies, examples, leak_share
from components.data_guard.findings import NEVER, Finding, are, counted

_FINDERS: dict[str, Callable[[Dataset, np.ndarray], np.ndarray]] = {
    "image": near_images.find_near_images,
    "text": near_texts.find_near_texts,
    "audio": near_recordings.find_near_recordings,
    "table": near_rows.find_near_rows,
    "series": near_windows.find_near_windows,
}


def find_near_pairs(dataset: Dataset, copies: Copies) -> np.ndarray:
    """Finds pairs of rows that nearly equal each other and are no exact copies.

    One of each set of exact copies stands for all.

    Returns:
        int64 array (P, 2) of row numbers, the lower first, sorted.
    """
    finder = _FINDERS[dataset.layout.input_name]
    return finder(dataset, copies.is_repeat(dataset.num_rows))


def find_near_leaks(
    dataset: Dataset, config: DataGuardConfig, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds rows of validation and test that nearly equal one of an earlier split."""
    leaks_P2 = leaking_pairs(dataset, near_pairs_P2)
    if not len(leaks_P2):
        return []
    within_P2 = near_pairs_P2[near_pairs_P2[:, 1] < dataset.num_train()]
    return [
        Finding(
            name="near_leaks",
            amount=leak_share(dataset, leaks_P2, within_P2),
            limit=config.max_near_leak_share,
            sentence=f"{counted(len(leaks_P2), dataset.thing)} of validation and test "
            f"{are(len(leaks_P2))} nearly equal to one of an earlier split.",
            examples=examples(dataset, leaks_P2),
            cure="Look at them; remove those that are the same from one of the splits.",
        )
    ]


def leaking_pairs(dataset: Dataset, pairs_P2: np.ndarray) -> np.ndarray:
    """Returns the rows that leak, each with one of an earlier split that it goes with.

    Of several that it goes with, one in training comes first.
    """
    codes_P2 = dataset.split_codes(pairs_P2)
    # Later splits have higher numbers, so the second of a pair is the one that leaks.
    across_P2 = pairs_P2[codes_P2[:, 0] != codes_P2[:, 1]][:, ::-1]
    _, first = np.unique(across_P2[:, 0], return_index=True)
    return across_P2[first]


def find_near_duplicates(
    dataset: Dataset, config: DataGuardConfig, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds rows of the training split that nearly equal another one there."""
    del config  # Like exact copies in training, they make no number lie.
    within_P2 = near_pairs_P2[near_pairs_P2[:, 1] < dataset.num_train()]
    num_rows = len(np.unique(within_P2))
    if not num_rows:
        return []
    return [
        Finding(
            name="near_duplicates",
            amount=num_rows / dataset.num_train(),
            limit=NEVER,
            sentence=f"{counted(num_rows, dataset.thing)} of training {are(num_rows)} nearly equal "
            "to another one.",
            examples=examples(dataset, within_P2),
            cure="Remove them, unless their number is meant to weigh.",
        )
    ]
