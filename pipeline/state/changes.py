"""Says for each step why it would run, or that nothing it depends on changed."""

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from components.ingest import digest
from pipeline import toml_text
from pipeline.state import files, steps
from pipeline.state.request import StepFingerprint
from pipeline.state.summary import RunSummary

Fingerprints = Mapping[str, StepFingerprint]
_ENVIRONMENT_WORDS = {"packages": "the locked packages"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepPlan:
    """Why one step would run; no reason means that it would not."""

    step: steps.Step
    reasons: tuple[str, ...]

    @property
    def would_run(self) -> bool:
        """True if there is a reason."""
        return bool(self.reasons)


def plan(
    now: Fingerprints, before: Fingerprints | None, *, artifacts_dir: pathlib.Path
) -> list[StepPlan]:
    """Compares what the steps depend on now with what they depended on in an earlier run.

    Args:
        now: The fingerprints of the recipe as it is.
        before: Those of the last published run, or None if there was none.
        artifacts_dir: Folder with one folder per step.

    Returns:
        One plan per step, in the order of the step table.
    """
    plans: dict[str, StepPlan] = {}
    for step in (step for step in steps.STEPS if step.name in now):
        reasons = list(_own_reasons(step, now, before, artifacts_dir))
        above = [name for name in step.upstream if name in plans and plans[name].would_run]
        if above and before is not None:
            reasons.append(f"a step before it would run: {', '.join(above)}")
        plans[step.name] = StepPlan(step=step, reasons=tuple(reasons))
    return list(plans.values())


def damage(summary: RunSummary) -> list[str]:
    """What is missing or altered of a published run: one sentence per file, empty if intact."""
    faults: list[str] = []
    if summary.published is not None:
        folder = pathlib.Path(summary.published.path)
        found = files.digest_tree(folder)
        for name, expected in summary.published.files.items():
            if name not in found:
                faults.append(f"the published file {folder / name} is gone")
            elif found[name] != expected:
                faults.append(f"the published file {folder / name} was altered")
    if summary.report_path is not None and not pathlib.Path(summary.report_path).is_file():
        faults.append(f"the report {summary.report_path} is gone")
    return faults


def _own_reasons(
    step: steps.Step, now: Fingerprints, before: Fingerprints | None, artifacts_dir: pathlib.Path
) -> Iterator[str]:
    if before is None:
        yield "it has not run yet"
        return
    if step.name not in before:
        yield "it is new in the pipeline"
        return
    yield from _differences(now[step.name], before[step.name])
    if step.has_artifacts and not _has_content(artifacts_dir / step.name):
        yield f"its results are gone from {artifacts_dir / step.name}"


def _differences(now: StepFingerprint, before: StepFingerprint) -> Iterator[str]:
    yield from _changed_values(now.recipe, before.recipe, "")
    yield from _changed_values(now.run, before.run, "the run's ")
    yield from _changed_files(now.code, before.code)
    for key in sorted(now.environment.keys() | before.environment.keys()):
        old, new = before.environment.get(key), now.environment.get(key)
        if old == new:
            continue
        if key in _ENVIRONMENT_WORDS:
            yield f"{_ENVIRONMENT_WORDS[key]} changed"
        else:
            yield f"the environment's {key} changed: {old} -> {new}"
    if now.data == digest.ABSENT:
        yield "the data is not on this machine"
    elif now.data != before.data:
        yield "the bytes of the data changed"


def _changed_values(
    now: Mapping[str, Any], before: Mapping[str, Any], prefix: str
) -> Iterator[str]:
    for key in [*before, *(key for key in now if key not in before)]:
        old, new = before.get(key), now.get(key)
        if old != new:
            yield f"{prefix}{key} changed: {_shown(old)} -> {_shown(new)}"


def _changed_files(now: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(now.keys() | before.keys()):
        if name not in before:
            yield f"{name} is new"
        elif name not in now:
            yield f"{name} is no longer used"
        elif now[name] != before[name]:
            yield f"{name} changed"


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = toml_text.value(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _has_content(folder: pathlib.Path) -> bool:
    # Some artifacts are properties in the metadata and an empty folder.
    return folder.is_dir() and any(folder.iterdir())
