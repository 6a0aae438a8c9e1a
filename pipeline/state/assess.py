"""Asks, without TensorFlow, what a run would depend on and whether the last one still stands."""

import dataclasses
import pathlib

from components.ingest import cache_location, digest
from pipeline.config import Recipe, RunConfig
from pipeline.environment import fingerprint
from pipeline.state import changes, fingerprints, workspace
from pipeline.state.request import StepFingerprint
from pipeline.state.summary import RunSummary


@dataclasses.dataclass(frozen=True, kw_only=True)
class Assessment:
    """A recipe compared with its last published run.

    Attributes:
        data_is_here: False if the source's bytes are not on this machine yet, so that the
            fingerprints cannot cover them.
        fingerprints: Step -> what it depends on now.
        plans: Why each step would run.
        last: The last published run, or None.
        damage: What is missing or altered of that run's results.
    """

    data_is_here: bool
    fingerprints: dict[str, StepFingerprint]
    plans: list[changes.StepPlan]
    last: RunSummary | None
    damage: list[str]

    @property
    def up_to_date(self) -> bool:
        """True if the last run's results are whole and nothing they depend on changed."""
        unchanged = not any(plan.would_run for plan in self.plans)
        return self.last is not None and unchanged and not self.damage


def assess(recipe: Recipe, run_config: RunConfig, place: workspace.Workspace) -> Assessment:
    """Compares a recipe with its last published run.

    Raises:
        components.ingest.errors.DataError: If the recipe's source cannot be used.
        OSError: If a file cannot be read.
    """
    data_digest = digest.source_digest(recipe.data, cache_dir())
    now = fingerprints.compute(
        recipe,
        run_config,
        data_digest=data_digest,
        environment=fingerprint.environment(),
    )
    found = place.last_published()
    before, last = (found[0].fingerprints, found[1]) if found else (None, None)
    return Assessment(
        data_is_here=data_digest != digest.ABSENT,
        fingerprints=now,
        plans=changes.plan(now, before, artifacts_dir=place.artifacts_dir),
        last=last,
        damage=changes.damage(last) if last else [],
    )


def cache_dir() -> pathlib.Path:
    """Folder of prepared data, absolute."""
    return cache_location.cache_dir().absolute()
