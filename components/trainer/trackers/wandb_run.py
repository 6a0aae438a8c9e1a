"""A run in Weights & Biases; its own WANDB_* variables say where and whether off-line."""

import pathlib
from collections.abc import Mapping
from typing import Any


class WandbRun:
    """A run of the project that is called as the recipe.

    Args:
        project: Name of the project.
        settings: Recorded as the run's config.
        directory: The run's folder; the files of the tracker are in its `wandb`.
        run_id: An earlier run to go on with; None begins one.

    Attributes:
        run_id: The tracker's identifier.
    """

    def __init__(
        self,
        *,
        project: str,
        settings: Mapping[str, Any],
        directory: pathlib.Path,
        run_id: str | None = None,
    ):
        # Imported here, since it takes seconds and is an extra.
        import wandb

        directory.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=project,
            config=dict(settings),
            dir=str(directory),
            id=run_id,
            # Steps that a resumed run repeats are below the last one, and are left out.
            resume=None if run_id is None else "allow",
            settings=wandb.Settings(silent=True, console="off"),
        )
        self.run_id = str(self._run.id)

    def log(self, values: Mapping[str, float], global_step: int) -> None:
        """Records values; W&B sends them by a process of its own."""
        self._run.log(dict(values), step=global_step)

    def close(self, *, has_finished: bool) -> None:
        """Ends the run as finished or failed."""
        self._run.finish(exit_code=0 if has_finished else 1)
