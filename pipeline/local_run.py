"""Runs a recipe on this machine, unless nothing that it depends on changed."""

import contextlib
import pathlib
import signal
import time
from collections.abc import Iterator

from pipeline.config import Recipe, RunConfig
from pipeline.state import assess, workspace
from pipeline.state.summary import RunSummary, Seconds


def run(recipe: Recipe, run_config: RunConfig, *, force: bool = False) -> RunSummary:
    """Runs a recipe, or finds that nothing it depends on changed since it was last published.

    Args:
        recipe: What to learn.
        run_config: Where to run; its root holds the results.
        force: Run every step, whatever is unchanged.

    Returns:
        The summary, which is also in RUN/summary.json.

    Raises:
        workspace.WorkspaceError: If the root cannot be written, or another run is at work in it.
        components.ingest.errors.DataError: If the recipe's source cannot be used.
    """
    workspace.check_is_folder(run_config.root)
    root = str(pathlib.Path(run_config.root).expanduser().absolute())
    run_config = run_config.model_copy(update={"root": root})
    place = workspace.Workspace(root, recipe.name)
    place.prepare()
    with place.lock(), _termination_as_interrupt():
        started = time.monotonic()
        if place.last_published() is not None and not force:
            assessment = assess.assess(recipe, run_config, place)
            if assessment.up_to_date and assessment.last:
                return _standing(assessment.last, time.monotonic() - started)
        # Imported here: the answer "nothing changed" draws nothing, and rich is slow to import.
        from pipeline import engine_run

        return engine_run.EngineRun(
            recipe, run_config, place, force=force, started=started
        ).summary()


def _standing(last: RunSummary, seconds: float) -> RunSummary:
    return last.model_copy(
        update={"status": "up_to_date", "seconds": Seconds(total=round(seconds, 3))}
    )


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end a run as Ctrl-C does, so that its children end in order."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
