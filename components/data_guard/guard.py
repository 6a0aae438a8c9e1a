"""Runs all checks on an ingested dataset and decides whether it may be learned from."""

from collections.abc import Sequence
from pathlib import Path

from components import gates
from components.data_guard import distributions, duplicates, near
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import load_table
from components.data_guard.findings import Finding

STEP = "data_guard"

_CHECKS = (
    duplicates.find_exact_leaks,
    duplicates.find_exact_duplicates,
    distributions.find_blank_images,
    distributions.find_rare_classes,
    distributions.find_label_shift,
    distributions.find_pixel_shift,
    distributions.find_shortcut,
)
_PAIR_CHECKS = (near.find_near_leaks, near.find_near_duplicates, duplicates.find_conflicts)


def find_all(folder: Path, config: DataGuardConfig) -> list[Finding]:
    """Looks at an ingested dataset from every side.

    Args:
        folder: The folder of a dataset that `components.ingest` wrote.
        config: The recipe's `[data_guard]`.

    Returns:
        What was found, first what stops the run.
    """
    table = load_table(folder)
    found = [finding for check in _CHECKS for finding in check(table, config)]
    pairs_P2 = near.find_near_pairs(table)
    found += [finding for check in _PAIR_CHECKS for finding in check(table, config, pairs_P2)]
    return sorted(found, key=lambda finding: not finding.stops)


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


def _sentence(finding: Finding) -> str:
    examples = "; ".join(" = ".join(group) for group in finding.examples)
    shown = f" For example {examples}." if examples else ""
    amount = f"({finding.amount:.2%}, at most {finding.limit:.2%})"
    return f"{finding.sentence[:-1]} {amount}.{shown} {finding.cure}"
