"""Tries a draft on its data before it is written, so that the recipe can be run at once.

The data are ingested into the cache, where the run finds them, and the data guard looks at them.
What a recipe can mend is mended: rows that cannot be used get a share of their own, a split
without a class another seed, a column that gives the answer away is left out, a split that lets
copies through becomes one by content. What only makes learning harder, such as silent recordings,
is accepted with its reason. What would make the results lie is left to stop the run.
"""

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from components.data_guard import guard
from components.data_guard.findings import Finding
from components.ingest import errors, ingest
from pipeline import config_errors, toml_file
from pipeline.config import Recipe
from pipeline.drafts.parts import Choices, Draft

# They hide nothing: a model that cannot learn these is measured by them like any other.
_ACCEPTABLE = ("blank_inputs", "conflicting_labels")
_COPIES = ("exact_leaks", "near_leaks", "group_leaks")
_MAX_REJECT_SHARE = 0.05
_SHARE_STEPS = 10_000
_MAX_SEEDS, _MAX_ROUNDS = 20, 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settled:
    """The recipe to write, and what to tell the user."""

    text: str
    notes: tuple[str, ...]


def settle(draft: Draft, cache_dir: Path) -> Settled:
    """Tries a draft and changes its choices until nothing that can be mended stops a run.

    Args:
        draft: The draft.
        cache_dir: Where datasets are kept.

    Raises:
        DataError: If the data cannot be ingested, whatever the choices.
        ConfigError: If a choice that the user made cannot be written as a recipe.
    """
    choices = Choices(seed=draft.seed)
    if not draft.is_whole:
        notes = ("not tried, since there is more than init looks at: the run will say what it is",)
        return Settled(text=draft.text(choices), notes=(*draft.notes(choices), *notes))
    findings: list[Finding] = []
    for _ in range(_MAX_ROUNDS):
        try:
            dataset, findings = _try(draft, choices, cache_dir)
        except errors.RejectsError:
            if choices.max_reject_share:
                raise
            choices = dataclasses.replace(choices, max_reject_share=_MAX_REJECT_SHARE)
            continue
        except errors.EmptySplitError:
            if choices.seed - draft.seed >= _MAX_SEEDS:
                raise
            choices = _other_split(draft, choices)
            continue
        changed = _mend(draft, choices, dataset, findings)
        if changed == choices:
            break
        choices = changed
    return Settled(
        text=draft.text(choices), notes=(*draft.notes(choices), *_tell(choices, findings))
    )


def _recipe(draft: Draft, choices: Choices) -> Recipe:
    subject = "the draft"
    values = toml_file.parse(draft.text(choices), subject)
    return config_errors.parse(Recipe, values, subject=subject)


def _try(draft: Draft, choices: Choices, cache_dir: Path) -> tuple[ingest.Dataset, list[Finding]]:
    recipe = _recipe(draft, choices)
    dataset = ingest.ingest(recipe.data, seed=recipe.seed, cache_dir=cache_dir)
    return dataset, guard.find_all(dataset.path, recipe.data_guard)


def _allow_rejects(choices: Choices, dataset: ingest.Dataset) -> Choices:
    """Allows no larger share of rows that cannot be used than there is."""
    manifest = dataset.manifest
    num_rows = manifest.num_rejects + sum(split.num_rows for split in manifest.splits.values())
    with (dataset.path / ingest.REJECTS_FILE).open(encoding="utf-8") as file:
        first = json.loads(next(file))
    return dataclasses.replace(
        choices,
        max_reject_share=math.ceil(manifest.num_rejects / num_rows * _SHARE_STEPS) / _SHARE_STEPS,
        reject_note=f"{manifest.num_rejects} of {num_rows} cannot be used, such as "
        f"{first['key']}: {first['reason']}",
    )


def _other_split(draft: Draft, choices: Choices) -> Choices:
    """Returns the next way to split, or, by content, the next seed."""
    if choices.split + 1 < draft.num_splits:
        note = "Another way to split was tried, but left a split without examples of a class."
        return dataclasses.replace(choices, split=choices.split + 1, split_note=note)
    return dataclasses.replace(choices, seed=choices.seed + 1)


def _mend(
    draft: Draft, choices: Choices, dataset: ingest.Dataset, findings: Sequence[Finding]
) -> Choices:
    """Returns the choices with what the recipe can do about the first thing that stops a run."""
    if dataset.manifest.num_rejects and not choices.reject_note:
        return _allow_rejects(choices, dataset)
    table = _recipe(draft, choices).data.table
    stopping = [each for each in findings if each.stops and each.name not in choices.accepted]
    for finding in stopping:
        if finding.name == "target_leak" and finding.columns and table:
            why = "gives the answer away nearly alone, says the data guard"
            left_out = {**choices.left_out, **dict.fromkeys(finding.columns, why)}
            if table.columns.keys() - left_out.keys():
                return dataclasses.replace(choices, left_out=left_out)
        if finding.name in _COPIES and choices.split + 1 < draft.num_splits:
            note = f"By another column, {finding.sentence[0].lower()}{finding.sentence[1:]}"
            return dataclasses.replace(choices, split=choices.split + 1, split_note=note)
        if finding.name in _ACCEPTABLE:
            reason = f"Found by kerasline init: {finding.sentence} {finding.cure}"
            accepted = {**choices.accepted, finding.name: reason}
            return dataclasses.replace(choices, accepted=accepted)
    return choices


def _tell(choices: Choices, findings: Sequence[Finding]) -> Iterator[str]:
    if choices.reject_note:
        yield f"{choices.reject_note}; they are left out"
    for name, why in choices.left_out.items():
        yield f"left out: {name} {why}"
    for finding in findings:
        if finding.name in choices.accepted:
            yield f"accepted: {finding.sentence} {_shown(finding)}{finding.cure}"
        elif finding.stops:
            yield f"the run will stop: {finding.sentence} {_shown(finding)}{finding.cure}"
    others = dict.fromkeys(finding.name for finding in findings if not finding.stops)
    if others:
        yield f"the data guard found, below its limits: {', '.join(others)}"
    if not findings:
        yield "the data guard found nothing"


def _shown(finding: Finding) -> str:
    examples = "; ".join(" = ".join(group) for group in finding.examples)
    return f"For example {examples}. " if examples else ""
