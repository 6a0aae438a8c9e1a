"""Rows in which there is nothing to learn from: a single colour, no words, silence, no change.

Legend: R rows, C channels.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.findings import MAX_EXAMPLES, Finding, are, counted

# Of full scale: -66 dB.
_SILENCE = 0.0005
_CURE = "Remove them, or find out why they came out empty."


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Blank:
    """What is blank among inputs of one kind."""

    is_blank: Callable[[np.ndarray], np.ndarray]  # From fingerprints (R,) to bool (R,).
    what: str
    cure: str = _CURE


_BLANKS = {
    "image": _Blank(
        is_blank=lambda rows_R: np.ptp(rows_R["grey"], axis=(1, 2)) == 0,
        what="of a single colour",
    ),
    "text": _Blank(is_blank=lambda rows_R: rows_R["num_words"] == 0, what="without words"),
    "audio": _Blank(is_blank=lambda rows_R: rows_R["swing"] < _SILENCE, what="silent"),
    "series": _Blank(
        # What is missing has no spread.
        is_blank=lambda rows_R: np.nan_to_num(rows_R["spread"]).max(1) <= 0,
        what="without change in the past",
        cure="Find out whether the meter stood still; take these times out of the source.",
    ),
}


def find_blank_inputs(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds images of one colour, texts without words, silent recordings and flat windows."""
    blank = _BLANKS[dataset.layout.input_name]
    number = 0
    rows: list[int] = []
    for chunk in dataset.chunks():
        found = chunk.numbers[blank.is_blank(chunk.rows_R)]
        number += len(found)
        rows += found[: MAX_EXAMPLES - len(rows)].tolist()
    if not number:
        return []
    return [
        Finding(
            name="blank_inputs",
            amount=number / dataset.num_rows,
            limit=config.max_blank_share,
            sentence=f"{counted(number, dataset.thing)} {are(number)} {blank.what}.",
            examples=tuple(dataset.keys(row) for row in rows),
            cure=blank.cure,
        )
    ]
