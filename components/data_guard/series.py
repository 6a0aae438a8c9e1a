"""Windows of a series: pasts in which nothing moves."""

import numpy as np

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.findings import MAX_EXAMPLES, Finding, are, counted


def find_flat_windows(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds windows whose past has one value from end to end, or none at all."""
    number = 0
    rows: list[int] = []
    for chunk in dataset.chunks():
        outlines = chunk.rows_R["outline"]
        # What is missing has no spread.
        spreads = np.nan_to_num(outlines, nan=-np.inf).max(1) - np.nan_to_num(
            outlines, nan=np.inf
        ).min(1)
        flat = chunk.numbers[spreads <= 0]
        number += len(flat)
        rows += flat[: MAX_EXAMPLES - len(rows)].tolist()
    if not number:
        return []
    return [
        Finding(
            name="blank_inputs",
            amount=number / dataset.num_rows,
            limit=config.max_blank_share,
            sentence=f"{counted(number, dataset.thing)} {are(number)} without change in the past.",
            examples=tuple(dataset.keys(row) for row in rows),
            cure="Find out whether the meter stood still; take these times out of the source.",
        )
    ]
