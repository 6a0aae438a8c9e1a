"""Exact copies: within the training split, across splits, and under different labels.

Legend: R rows, P pairs.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from components.data_guard import partition
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.findings import MAX_EXAMPLES, NEVER, Finding, are, counted

_RECORD = np.dtype([("key", "<u8"), ("row", "<i8"), ("label", "<i4")])
_DEVIATIONS = 3.0
# In these, rows repeat by nature: a few names and round numbers, a machine that stands still.
REPEATING = frozenset({"table", "series"})


@dataclasses.dataclass(frozen=True)
class Copies:
    """Rows with an equal in the dataset, each with the first of its equals."""

    repeats_P2: np.ndarray  # (row, first equal row), int64, for every row but the first of equals.
    conflicts_P2: np.ndarray  # (row, equal row before it with another label), int64.

    def is_repeat(self, num_rows: int) -> np.ndarray:
        """Returns of each row whether an earlier one is equal, bool (num_rows,)."""
        is_repeat_N = np.zeros(num_rows, bool)
        is_repeat_N[self.repeats_P2[:, 0]] = True
        return is_repeat_N


def find_copies(dataset: Dataset) -> Copies:
    """Finds the rows that have equals."""
    repeats, conflicts = [np.empty((0, 2), np.int64)], [np.empty((0, 2), np.int64)]
    num_bytes = dataset.num_rows * _RECORD.itemsize
    for records in partition.partition(_records(dataset), num_bytes=num_bytes):
        order, starts = partition.runs(records["key"])
        rows, labels = records["row"][order], records["label"][order]
        is_repeat = starts < np.arange(len(rows))
        repeats.append(np.stack([rows, rows[starts]], 1)[is_repeat])
        differs = np.flatnonzero(is_repeat[1:] & (labels[1:] != labels[:-1]))
        conflicts.append(np.stack([rows[differs + 1], rows[differs]], 1))
    return Copies(_sorted(np.concatenate(repeats)), _sorted(np.concatenate(conflicts)))


def _records(dataset: Dataset) -> Iterator[np.ndarray]:
    has_label = dataset.layout.answer_name == "label"
    for chunk in dataset.chunks():
        records = np.zeros(len(chunk.rows_R), _RECORD)
        records["key"], records["row"] = chunk.rows_R["content"], chunk.numbers
        if has_label:
            records["label"] = chunk.rows_R["label"]
        yield records


def _sorted(pairs_P2: np.ndarray) -> np.ndarray:
    return pairs_P2[np.lexsort((pairs_P2[:, 1], pairs_P2[:, 0]))]


def find_exact_duplicates(
    dataset: Dataset, config: DataGuardConfig, copies: Copies
) -> list[Finding]:
    """Finds rows of the training split that are copies of another one there."""
    del config  # A copy within training costs time, but makes no number lie.
    within_P2 = copies.repeats_P2[copies.repeats_P2[:, 0] < dataset.num_train()]
    if not len(within_P2):
        return []
    return [
        Finding(
            name="exact_duplicates",
            amount=len(within_P2) / dataset.num_train(),
            limit=NEVER,
            sentence=f"{counted(len(within_P2), dataset.thing)} of training {are(len(within_P2))} "
            "equal to an earlier one.",
            examples=examples(dataset, within_P2),
            cure="Remove the copies, unless their number is meant to weigh.",
        )
    ]


def find_exact_leaks(dataset: Dataset, config: DataGuardConfig, copies: Copies) -> list[Finding]:
    """Finds rows of validation and test that are in an earlier split too."""
    across_P2 = _across(dataset, copies.repeats_P2)
    if not len(across_P2):
        return []
    within_P2 = copies.repeats_P2[copies.repeats_P2[:, 0] < dataset.num_train()]
    return [
        Finding(
            name="exact_leaks",
            amount=leak_share(dataset, across_P2, within_P2),
            limit=config.max_exact_leak_share,
            sentence=f"{counted(len(across_P2), dataset.thing)} of validation and test "
            f"{are(len(across_P2))} in an earlier split too.",
            examples=examples(dataset, across_P2),
            cure="Remove them from one split: accuracy on them counts what was learned by heart.",
        )
    ]


def leak_share(dataset: Dataset, across_P2: np.ndarray, within_P2: np.ndarray) -> float:
    """Returns the share of validation's and test's rows that leak.

    Where rows repeat by nature, they do so within training too; then only what is in training
    counts, and of its share what goes beyond that in training by more than chance.

    Args:
        dataset: All rows.
        across_P2: Rows of validation and test, each with its copy in an earlier split.
        within_P2: Pairs of copies within training.
    """
    num_train = dataset.num_train()
    num_others = max(1, dataset.num_rows - num_train)
    if dataset.layout.input_name not in REPEATING:
        return len(np.unique(across_P2[:, 0])) / num_others
    share = len(np.unique(across_P2[across_P2[:, 1] < num_train, 0])) / num_others
    usual = len(np.unique(within_P2)) / num_train
    deviation = (usual * (1 - usual) * (1 / num_others + 1 / num_train)) ** 0.5
    return max(0.0, share - usual - _DEVIATIONS * deviation)


def _across(dataset: Dataset, pairs_P2: np.ndarray) -> np.ndarray:
    codes_P2 = dataset.split_codes(pairs_P2)
    return pairs_P2[codes_P2[:, 0] != codes_P2[:, 1]]


def find_conflicts(
    dataset: Dataset, config: DataGuardConfig, copies: Copies, near_pairs_P2: np.ndarray
) -> list[Finding]:
    """Finds rows that occur, exactly or nearly, with different labels."""
    if dataset.layout.answer_name != "label":
        return []
    labels_P2 = dataset.take(near_pairs_P2.ravel())["label"].reshape(-1, 2)
    near_P2 = near_pairs_P2[labels_P2[:, 0] != labels_P2[:, 1]]
    pairs_P2 = np.concatenate([copies.conflicts_P2, near_P2])
    if not len(pairs_P2):
        return []
    num_rows = len(np.unique(pairs_P2))
    repeats = dataset.layout.input_name in REPEATING
    return [
        Finding(
            name="conflicting_labels",
            amount=num_rows / dataset.num_rows,
            limit=NEVER if repeats else config.max_conflict_share,
            sentence=f"{counted(num_rows, dataset.thing)} {are(num_rows)} there with another label "
            "too, exactly or nearly.",
            examples=tuple(
                tuple(_labelled(dataset, row) for row in pair) for pair in pairs_P2[:MAX_EXAMPLES]
            ),
            cure="Decide which label is right; no model can learn both.",
        )
    ]


def _labelled(dataset: Dataset, row: int) -> str:
    label = dataset.take(np.array([row]))["label"][0]
    return f"{dataset.key(row)} ({dataset.layout.class_names[label]})"


def examples(dataset: Dataset, pairs_P2: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Returns the keys of the first pairs."""
    return tuple(dataset.keys(*pair) for pair in pairs_P2[:MAX_EXAMPLES])
