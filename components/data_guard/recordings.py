"""Recordings: those in which nothing is heard."""

from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.findings import MAX_EXAMPLES, Finding, are, counted

# Of full scale: -66 dB.
_SILENCE = 0.0005


def find_silent_recordings(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds recordings whose samples all keep to one level."""
    number = 0
    rows: list[int] = []
    for chunk in dataset.chunks():
        silent = chunk.numbers[chunk.rows_R["swing"] < _SILENCE]
        number += len(silent)
        rows += silent[: MAX_EXAMPLES - len(rows)].tolist()
    if not number:
        return []
    return [
        Finding(
            name="blank_inputs",
            amount=number / dataset.num_rows,
            limit=config.max_blank_share,
            sentence=f"{counted(number, dataset.thing)} {are(number)} silent.",
            examples=tuple(dataset.keys(row) for row in rows),
            cure="Remove them, or find out why they came out empty.",
        )
    ]
