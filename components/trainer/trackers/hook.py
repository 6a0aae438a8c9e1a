"""Sends what a run logs to a tracker, without holding the training up or ending it."""

import concurrent.futures
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from components.trainer import logs, loop, loss_scale
from components.trainer import step as train_step
from components.trainer.trackers import mlflow_run, names, wandb_run

_IDS_FILE = "trackers.json"


class Tracker(Protocol):
    """A run's record elsewhere.

    Attributes:
        run_id: What it calls the run; a resumed run goes on under it.
    """

    run_id: str

    def log(self, values: Mapping[str, float], global_step: int) -> None:
        """Records values by name; what was recorded of a step before is kept."""

    def close(self, *, has_finished: bool) -> None:
        """Waits until all is sent, and says how the run ended."""


_OPEN: Mapping[str, Callable[..., Tracker]] = {
    "mlflow": mlflow_run.MlflowRun,
    "wandb": wandb_run.WandbRun,
}


class TrackerHook:
    """Sends steps and epochs in a thread of its own; a tracker that fails is left out from then on.

    Args:
        name: The tracker's, for messages.
        tracker: Where to.
        scale: Loss scaling, if there is any, whose factor is sent.
    """

    def __init__(
        self, name: str, tracker: Tracker, *, scale: loss_scale.DynamicLossScale | None = None
    ):
        self._name = name
        self._tracker = tracker
        self._scale = scale
        self._sender = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix=name)
        self._has_failed = False

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Sends what the log's line holds, as `train/NAME`."""
        line = logs.steps_line(report, seconds, scale=self._scale)
        self._send({f"train/{key}": value for key, value in line.items()}, global_step)

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Sends the epoch's metrics, as `epoch/NAME`."""
        values = {f"epoch/{key}": value for key, value in record.metrics.items()}
        self._send(values, record.global_step)

    def close(self, *, has_finished: bool) -> None:
        """Waits until all is sent.

        Args:
            has_finished: False if the training was ended before its time.
        """
        self._sender.submit(self._try, lambda: self._tracker.close(has_finished=has_finished))
        self._sender.shutdown(wait=True)

    def _send(self, values: Mapping[str, float | None], global_step: int) -> None:
        known = {key: value for key, value in values.items() if value is not None}
        self._sender.submit(self._try, lambda: self._tracker.log(known, global_step))

    def _try(self, call: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            call()
        except Exception as error:
            # Whatever it is: hours of training are worth more than their record elsewhere.
            self._has_failed = True
            logs.message(
                f"The tracker {self._name} failed and records no more of this run; training goes "
                f"on. It said: {error}"
            )


def open_trackers(
    tracker_names: Sequence[str],
    *,
    project: str,
    settings: Mapping[str, Any],
    directory: pathlib.Path,
    is_resumed: bool,
    scale: loss_scale.DynamicLossScale | None,
) -> list[TrackerHook]:
    """Begins the run's record in each tracker, or goes on with it.

    Args:
        tracker_names: Members of `names.TRACKERS`.
        project: What the run belongs to: the recipe's name.
        settings: What the run depends on.
        directory: The run's folder, which keeps the trackers' names for it.
        is_resumed: True to go on with the records that the folder names.
        scale: Loss scaling, if there is any.

    Raises:
        TrackerError: If a tracker cannot be used.
    """
    names.check_installed(tracker_names)
    path = directory / _IDS_FILE
    run_ids = json.loads(path.read_text()) if is_resumed and path.exists() else {}
    hooks = []
    for name in tracker_names:
        try:
            tracker = _OPEN[name](
                project=project,
                settings=settings,
                directory=directory,
                run_id=run_ids.get(name),
            )
        except Exception as error:
            raise names.TrackerError(
                f"The tracker {name} cannot be used: {error} "
                "Mend its environment variables, or leave it out."
            ) from error
        run_ids[name] = tracker.run_id
        hooks.append(TrackerHook(name, tracker, scale=scale))
    if tracker_names:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run_ids) + "\n")
    return hooks
