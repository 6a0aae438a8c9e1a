"""Decides whether data may be learned from."""

import dataclasses
from collections.abc import Iterator, Mapping

from components import gates

STEP = "validation_gate"
# A long list helps nobody; the ExampleAnomalies artifact holds them all.
_MAX_PROBLEMS_SHOWN = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitFacts:
    """What the statistics and the validation say of one split.

    Attributes:
        num_examples: Number of examples.
        label_counts: Label -> number of examples; labels that do not occur may be missing.
        anomalies: One text per anomaly that ExampleValidator found, such as "label: Out-of-range
            values".
    """

    num_examples: int
    label_counts: Mapping[int, int]
    anomalies: tuple[str, ...] = ()


def check(splits: Mapping[str, SplitFacts], class_names: tuple[str, ...]) -> dict[str, list[int]]:
    """Refuses data with anomalies, unknown labels or classes without examples.

    Args:
        splits: Split name -> its facts.
        class_names: The name of each class, by label; none if numbers are predicted.

    Returns:
        Split name -> number of examples of each class, by label.

    Raises:
        GateRefusedError: If anything is wrong; the message names the split, what was found, and the
            cure.

    >>> check({"train": SplitFacts(num_examples=3, label_counts={0: 1, 1: 2})}, ("cat", "dog"))
    {'train': [1, 2]}
    """
    problems = [
        f"split {name!r}: {problem}"
        for name, facts in splits.items()
        for problem in _problems(facts, class_names)
    ]
    if problems:
        raise gates.GateRefusedError(STEP, _sentence(problems, has_classes=bool(class_names)))
    labels = range(len(class_names))
    return {
        name: [facts.label_counts.get(label, 0) for label in labels]
        for name, facts in splits.items()
    }


def _problems(facts: SplitFacts, class_names: tuple[str, ...]) -> Iterator[str]:
    if facts.num_examples == 0:
        yield "it holds no examples"
        return
    yield from facts.anomalies
    num_classes = len(class_names)
    for label in sorted(facts.label_counts):
        if not 0 <= label < num_classes:
            yield (
                f"{facts.label_counts[label]} examples have label={label}, "
                f"but labels must be 0 to {num_classes - 1}"
            )
    for label, name in enumerate(class_names):
        if facts.label_counts.get(label, 0) == 0:
            yield f"class {name!r} (label {label}) has no examples"


def _sentence(problems: list[str], *, has_classes: bool) -> str:
    shown = "; ".join(problems[:_MAX_PROBLEMS_SHOWN])
    num_hidden = len(problems) - _MAX_PROBLEMS_SHOWN
    more = f"; and {num_hidden} more" if num_hidden > 0 else ""
    keys = "`data.label.class_names` or `data.splits`" if has_classes else "`data`"
    return (
        f"The data cannot be learned from. Found {shown}{more}. "
        f"Correct the source, or change {keys} in the recipe."
    )
