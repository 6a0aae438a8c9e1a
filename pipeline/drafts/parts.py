"""The parts that drafts of recipes share, and what a trial on the data may change in them."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pipeline import toml_text
from pipeline.drafts.machine import Machine

VALIDATION_SHARE, TEST_SHARE = 0.15, 0.15
# By how much a model must at least be right more often than if it always said the same, but never
# by more than half of what is left.
_MARGIN = 0.02


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choices:
    """What is settled by trying a draft.

    Attributes:
        seed: The recipe's seed.
        split: Which of the draft's ways to split, the best first.
        split_note: Why a better one was not taken.
        left_out: Columns that the model must not read -> why.
        accepted: Findings of the data guard that are no fault -> why.
        max_reject_share: Share of rows that cannot be used.
        reject_note: What they are.
    """

    seed: int = 0
    split: int = 0
    split_note: str = ""
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    accepted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    max_reject_share: float = 0.0
    reject_note: str = ""


class Draft(Protocol):
    """A recipe in the making.

    Attributes:
        summary: What was looked at, in a few words.
        seed: The seed to try first.
        num_splits: Ways to split the data.
        is_whole: False if the data are too many to be tried.
    """

    summary: str
    seed: int
    num_splits: int
    is_whole: bool

    def notes(self, choices: Choices) -> tuple[str, ...]:
        """Says what was chosen and how to choose otherwise."""

    def text(self, choices: Choices) -> str:
        """Returns the recipe as TOML."""


def recipe_name(path: Path) -> str:
    """Returns a valid recipe name that resembles a folder's or a file's.

    >>> recipe_name(Path("/data/My Photos (2026)"))
    'my_photos_2026'
    """
    words = re.findall(r"[a-z0-9]+", path.name.lower())
    name = "_".join(words)[:50].rstrip("_")
    return name if name[:1].isalpha() else f"data_{name}"[:50].rstrip("_")


def head(
    looked_at: str, machine: Machine, *, name: str, description: str, task: str, seed: int
) -> str:
    """Returns what stands before the first table."""
    return (
        f"# {looked_at}. Written for this machine: {machine.in_words()}.\n"
        f"schema_version = 1\nname = {toml_text.value(name)}\n"
        f"description = {toml_text.value(description)}\ntask = {toml_text.value(task)}\n"
        f"# Decides the splits and the first weights.\nseed = {seed}\n\n"
    )


def labels(class_names: Sequence[str], *, source_name: str | None = None) -> str:
    """Returns the table of the label."""
    column = f"source_name = {toml_text.value(source_name)}\n" if source_name else ""
    return f"[data.label]\n{column}class_names = {toml_text.value(list(class_names))}\n\n"


def folder_shares(*, has_test_split: bool) -> dict[str, float]:
    """Returns the keys of `[data.splits]` for a folder of files."""
    shares = {"validation_share": VALIDATION_SHARE, "test_share": TEST_SHARE}
    if has_test_split:
        del shares["test_share"]
    return shares


def hash_splits(shares: Mapping[str, float], *, thing: str) -> str:
    """Returns the table of splits by content."""
    lines = "".join(f"{name} = {share}\n" for name, share in shares.items())
    return (
        f"# Membership is a hash of the {thing}: it stays in its split when the data grows.\n"
        f"[data.splits]\n{lines}\n"
    )


def rejects(choices: Choices, *, thing: str) -> str:
    """Returns the table of what cannot be used."""
    note = choices.reject_note or f"Allow a share of {thing} that cannot be used"
    return (
        f"# {note}; they are listed beside the data.\n"
        f"[data.rejects]\nmax_share = {choices.max_reject_share}\n\n"
    )


def guard(choices: Choices) -> str:
    """Returns the table of accepted findings, if there are any."""
    if not choices.accepted:
        return ""
    lines = [f"{name} = {toml_text.value(why)}\n" for name, why in choices.accepted.items()]
    return (
        "# The data guard would stop the run for these. They make no result look better than it "
        "is, so\n# that it may go on; the report keeps them in view.\n"
        f"[data_guard.accept]\n{''.join(lines)}\n"
    )


def cache(machine: Machine, *, num_bytes: int, things: str) -> str:
    """Returns the line of the input's table that says where decoded examples are kept."""
    return (
        f"# Decoded, the {things} take about {max(1, round(num_bytes / 1e6))} MB, of "
        f"{machine.memory_bytes / 1e9:.1f} GB of free memory: up to a\n"
        '# quarter of that "auto" keeps them there, then on disk.\n'
        '[input]\ncache = "auto"\n\n'
    )


def training(
    machine: Machine,
    *,
    num_train: int,
    num_epochs: int,
    batch_size: int,
    learning_rate: float | None = None,
) -> str:
    """Returns the table of the training."""
    rate = (
        f"\n[training.optimizer]\nlearning_rate = {learning_rate}\n"
        if learning_rate is not None
        else ""
    )
    return (
        f"# About {-(-num_train // batch_size) * num_epochs} steps.\n[training]\n"
        f"num_epochs = {num_epochs}\nglobal_batch_size = {batch_size}\n"
        f'# {machine.precision_in_words()}\nprecision = "auto"\n'
        '# Those of the epoch that was best on the validation split.\nfinal_weights = "best"\n'
        f"{rate}\n"
    )


def class_gate(majority: str, share: float) -> str:
    """Returns the thresholds of a classifier, a little above always giving one class.

    Args:
        majority: The most frequent class.
        share: Its share.
    """
    least = share + min(_MARGIN, (1 - share) / 2)
    return (
        f"# Always answering {toml_text.value(majority)} is right in {share:.1%} of the cases; a "
        "model must do better.\n# Raise both once you know what is within reach.\n[evaluation]\n"
        f"min_accuracy = {round(least, 4)}\nmin_class_accuracy = 0.0\n"
    )


def number_gate(simple: str) -> str:
    """Returns the thresholds of a model of numbers: no worse than a simple forecast.

    Args:
        simple: What that is, as a sentence.
    """
    return (
        f"# {simple}\n# The skill is 1 - the model's mean error / that of this forecast. Raise it "
        "once you know what is\n# within reach.\n[evaluation]\nmin_skill = 0.0\n"
    )
