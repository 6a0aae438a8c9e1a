"""Leaks that the splits themselves make: a group in two of them, training later than the test.

Legend: R rows.
"""

from collections.abc import Iterator

import numpy as np

from components.data_guard import partition
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Dataset
from components.data_guard.findings import MAX_EXAMPLES, NEVER, Finding, are, counted
from components.ingest import fingerprint

_RECORD = np.dtype([("key", "<u8"), ("row", "<i8"), ("count", "<i8"), ("split", "<i1")])
_TIME_WORDS = frozenset({"date", "datetime", "time", "timestamp"})


def find_group_leaks(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds rows of validation and test whose group is in an earlier split too."""
    num_leaks, num_groups, found = 0, 0, [np.empty((0, 2), np.int64)]
    num_bytes = dataset.num_rows * _RECORD.itemsize
    for records in partition.partition(_group_records(dataset), num_bytes=num_bytes):
        order, starts = partition.runs(records["key"])
        records = records[order]
        leaks = np.flatnonzero(records["split"] > records["split"][starts])
        num_leaks += int(records["count"][leaks].sum())
        num_groups += len(np.unique(starts[leaks]))
        pairs = np.stack([records["row"][leaks], records["row"][starts[leaks]]], 1)
        found.append(pairs[:MAX_EXAMPLES])
    if not num_leaks:
        return []
    return [
        Finding(
            name="group_leaks",
            amount=num_leaks / max(1, dataset.num_rows - dataset.num_train()),
            limit=config.max_group_leak_share,
            sentence=f"{counted(num_groups, 'group')} {are(num_groups)} in several splits, with "
            f"{counted(num_leaks, dataset.thing)} of validation and test.",
            examples=tuple(dataset.keys(*pair) for pair in np.concatenate(found)[:MAX_EXAMPLES]),
            cure="Keep each group in one split: leave all splits to data.splits by group.",
        )
    ]


def _group_records(dataset: Dataset) -> Iterator[np.ndarray]:
    """Yields of each group in a chunk its first row and the number of its rows."""
    for chunk in dataset.chunks():
        groups, first, counts = np.unique(
            chunk.rows_R["group"], return_index=True, return_counts=True
        )
        records = np.empty(len(groups), _RECORD)
        records["key"], records["row"] = groups, chunk.first_row + first
        records["count"] = counts
        records["split"] = dataset.split_codes(np.array([chunk.first_row]))[0]
        yield records[groups != fingerprint.MISSING]


def find_time_leaks(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds rows that are later than the first ones of a later split."""
    spans = _time_spans(dataset)
    found = []
    for earlier, later in (("train", "validation"), ("train", "test"), ("validation", "test")):
        if earlier in spans and later in spans and spans[earlier][1] > spans[later][0]:
            late = _count_beyond(dataset, earlier, spans[later][0], sign=1)
            early = _count_beyond(dataset, later, spans[earlier][1], sign=-1)
            number, row = min(late, early)
            where = (
                f"of {earlier} {are(number)} later than the first of {later}"
                if late <= early
                else f"of {later} {are(number)} earlier than the last of {earlier}"
            )
            found.append(
                Finding(
                    name="time_leaks",
                    amount=number / dataset.num_rows,
                    limit=config.max_time_leak_share,
                    sentence=f"{earlier.capitalize()} and {later} overlap in time: "
                    f"{counted(number, dataset.thing)} {where}.",
                    examples=(dataset.keys(row),),
                    cure="In use a model cannot have learned from the future: split by time.",
                )
            )
    return found


def _time_spans(dataset: Dataset) -> dict[str, tuple[float, float]]:
    """Returns the first and last time of each split that has any."""
    spans: dict[str, tuple[float, float]] = {}
    for split in SPLITS:
        for chunk in dataset.chunks(split):
            times = chunk.rows_R["time"][np.isfinite(chunk.rows_R["time"])]
            if len(times):
                first, last = spans.get(split, (np.inf, -np.inf))
                spans[split] = min(first, times.min()), max(last, times.max())
    return spans


def _count_beyond(dataset: Dataset, split: str, limit: float, *, sign: int) -> tuple[int, int]:
    """Returns how many rows are later than `limit`, or earlier if `sign` is -1, and the first."""
    number, first = 0, 0
    for chunk in dataset.chunks(split):
        beyond = np.flatnonzero(sign * (chunk.rows_R["time"] - limit) > 0)
        if len(beyond) and not number:
            first = int(chunk.first_row + beyond[0])
        number += len(beyond)
    return number, first


def find_ignored_time(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds columns of times in a table that is split by something else."""
    del config  # Whether the past must tell the future is for the user to say.
    layout = dataset.layout
    if layout.split_by == "time":
        return []
    names = [
        name
        for name in (*layout.numbers, *layout.categories)
        if _TIME_WORDS & set(name.lower().replace("-", "_").split("_"))
    ]
    if not names:
        return []
    return [
        Finding(
            name="ignored_time",
            amount=NEVER,
            limit=NEVER,
            sentence=f"The splits do not go by time, but there is {', '.join(names)}.",
            cure='If the model is to tell the future, set data.splits.by = "time".',
        )
    ]
