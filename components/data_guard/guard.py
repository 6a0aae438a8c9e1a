"""Runs all checks on an ingested dataset and decides whether it may be learned from."""

from collections.abc import Callable, Sequence
from pathlib import Path

from components import gates
from components.data_guard import (
    blanks,
    columns,
    duplicates,
    images,
    labels,
    leaks,
    near,
    texts,
    turned_images,
)
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import Dataset
from components.data_guard.findings import Finding

STEP = "data_guard"

Check = Callable[[Dataset, DataGuardConfig], list[Finding]]

_CHECKS: tuple[Check, ...] = (
    leaks.find_group_leaks,
    leaks.find_time_leaks,
    leaks.find_ignored_time,
    labels.find_rare_classes,
    labels.find_label_shift,
    labels.find_order_bias,
)
_CHECKS_OF_INPUT: dict[str, tuple[Check, ...]] = {
    "image": (blanks.find_blank_inputs, images.find_pixel_shift, images.find_shortcut),
    "text": (blanks.find_blank_inputs, texts.find_text_findings),
    "audio": (blanks.find_blank_inputs,),
    "table": (columns.find_column_findings,),
    "series": (blanks.find_blank_inputs,),
}


def find_all(folder: Path, config: DataGuardConfig) -> list[Finding]:
    """Looks at an ingested dataset from every side.

    Args:
        folder: The folder of a dataset that `components.ingest` wrote.
        config: The recipe's `[data_guard]`.

    Returns:
        What was found, first what stops the run.
    """
    dataset = Dataset.open(folder)
    copies = duplicates.find_copies(dataset)
    near_pairs_P2 = near.find_near_pairs(dataset, copies)
    found = [
        *duplicates.find_exact_leaks(dataset, config, copies),
        *near.find_near_leaks(dataset, config, near_pairs_P2),
        *duplicates.find_conflicts(dataset, config, copies, near_pairs_P2),
        *duplicates.find_exact_duplicates(dataset, config, copies),
        *near.find_near_duplicates(dataset, config, near_pairs_P2),
    ]
    if dataset.layout.input_name == "image":
        found += turned_images.find_turned_leaks(dataset, config, copies, near_pairs_P2)
    for check in (*_CHECKS, *_CHECKS_OF_INPUT[dataset.layout.input_name]):
        found += check(dataset, config)
    severities = ("stop", "warning", "note")
    return sorted(found, key=lambda finding: severities.index(finding.severity))


def check(findings: Sequence[Finding], config: DataGuardConfig) -> None:
    """Stops the run for findings above their limit that the recipe does not accept.

    Raises:
        GateRefusedError: If there are any; the message names them with examples and cures.
    """
    stopping = [each for each in findings if each.stops and each.name not in config.accept]
    if not stopping:
        return
    sentences = [_sentence(finding) for finding in stopping]
    names = ", ".join(sorted({finding.name for finding in stopping}))
    raise gates.GateRefusedError(
        STEP,
        f"The data guard found {len(stopping)} reason{'s' * (len(stopping) > 1)} to stop. "
        f"{' '.join(sentences)} "
        f"Or accept with a reason in data_guard.accept: {names}.",
    )


def summary(findings: Sequence[Finding]) -> str:
    """Says in a few words what was found, for the line of a run's progress.

    >>> summary([])
    'nothing found'
    """
    names = list(dict.fromkeys(finding.name for finding in findings))
    return f"found {', '.join(names)}" if names else "nothing found"


def _sentence(finding: Finding) -> str:
    examples = "; ".join(" = ".join(group) for group in finding.examples)
    shown = f" For example {examples}." if examples else ""
    amount = f"({finding.amount:.2%}, at most {finding.limit:.2%})"
    return f"{finding.sentence[:-1]} {amount}.{shown} {finding.cure}"
