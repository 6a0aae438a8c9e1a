"""Exact copies: within the training split, across splits, and under different labels.

Legend: N rows.
"""

import numpy as np

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Table
from components.data_guard.findings import Finding

_MAX_EXAMPLES = 3


def find_exact_duplicates(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds rows of the training split that are copies of another one there."""
    del config  # A copy within training costs time, but makes no number lie.
    rows = np.flatnonzero(table.rows_of("train"))
    _, first, counts = np.unique(table.contents_N[rows], return_index=True, return_counts=True)
    num_copies = len(rows) - len(first)
    if not num_copies:
        return []
    groups = [_copies(table, rows[index], "train") for index in first[counts > 1][:_MAX_EXAMPLES]]
    return [
        Finding(
            name="exact_duplicates",
            amount=num_copies / len(rows),
            limit=1.0,
            sentence=f"{num_copies} training images are copies of another one.",
            examples=tuple(tuple(table.key(row) for row in group[:2]) for group in groups),
            cure="Remove the copies, unless their number is meant to weigh.",
        )
    ]


def find_exact_leaks(table: Table, config: DataGuardConfig) -> list[Finding]:
    """Finds rows of validation and test whose image is in the training split too."""
    in_train = table.rows_of("train")
    is_leak = ~in_train & np.isin(table.contents_N, table.contents_N[in_train])
    leaks = np.flatnonzero(is_leak)
    if not len(leaks):
        return []
    return [
        Finding(
            name="exact_leaks",
            amount=len(leaks) / max(1, int((~in_train).sum())),
            limit=config.max_exact_leak_share,
            sentence=f"{len(leaks)} images of validation and test are in the training split too.",
            examples=tuple(
                (table.key(row), table.key(_copies(table, row, "train")[0]))
                for row in leaks[:_MAX_EXAMPLES]
            ),
            cure="Remove them from one split: accuracy on them counts what was learned by heart.",
        )
    ]


def _copies(table: Table, row: int, split: str) -> np.ndarray:
    return np.flatnonzero((table.contents_N == table.contents_N[row]) & table.rows_of(split))


def find_conflicts(
    table: Table, config: DataGuardConfig, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds images that occur, exactly or nearly, with different labels."""
    order = np.argsort(table.contents_N, kind="stable")
    same = table.contents_N[order][1:] == table.contents_N[order][:-1]
    pairs_P2 = np.concatenate([np.stack([order[:-1], order[1:]], 1)[same], near_pairs_P2])
    labels_P2 = table.labels_N[pairs_P2]
    pairs_P2 = pairs_P2[labels_P2[:, 0] != labels_P2[:, 1]]
    if not len(pairs_P2):
        return []
    num_rows = len(np.unique(pairs_P2))
    return [
        Finding(
            name="conflicting_labels",
            amount=num_rows / len(table.labels_N),
            limit=config.max_conflict_share,
            sentence=f"{num_rows} images have a copy, or nearly one, with another label.",
            examples=tuple(
                tuple(f"{table.key(row)} ({_label(table, row)})" for row in pair)
                for pair in pairs_P2[:_MAX_EXAMPLES]
            ),
            cure="Decide which label is right; no model can learn both.",
        )
    ]


def _label(table: Table, row: int) -> str:
    return table.class_names[table.labels_N[row]]
