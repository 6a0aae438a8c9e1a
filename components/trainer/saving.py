"""Joins the run and its checkpoints: what is saved, when, and how a run goes on from there."""

from collections.abc import Mapping
from typing import Any

from components.trainer import checkpoints, config, logs, loop, monitors, schedule, snapshot
from components.trainer import step as train_step


class Saver:
    """Writes a checkpoint after each epoch, and in between if the recipe says so.

    Args:
        store: Where checkpoints are kept.
        step: The train step.
        rate: The learning-rate schedule.
        settings: The recipe's checkpoints.
        best_by: The metric by which the best are kept.
        run_config: The settings that a continued run must have unchanged.
        execution: How the steps are executed; part of the state, as it decides roundings.
        log: The log, whose length belongs to the state.
        is_writer: False on the workers of a cluster that only take part.
    """

    def __init__(
        self,
        store: checkpoints.CheckpointStore,
        step: train_step.TrainStep,
        rate: schedule.WarmupSchedule,
        *,
        settings: config.CheckpointConfig,
        best_by: config.Metric,
        run_config: Mapping[str, Any],
        execution: Mapping[str, Any],
        log: logs.JsonLog,
        is_writer: bool = True,
    ):
        self._store = store
        self._step = step
        self._reader = snapshot.Reader(step, rate) if is_writer else None
        self._settings = settings
        self._best_by: config.Metric = best_by
        self._run_config = run_config
        self._execution = execution
        self._log = log
        self._loop: loop.Loop | None = None
        self._plan: loop.LoopPlan | None = None
        self._last_step = 0

    def attach(self, training_loop: loop.Loop, plan: loop.LoopPlan) -> None:
        """Names the loop whose state is saved; call it before the loop runs."""
        self._loop, self._plan = training_loop, plan

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Saves if enough steps have passed; the end of an epoch is left to `on_epoch`."""
        assert self._loop is not None and self._plan is not None
        every = self._settings.every_steps
        is_epoch_end = self._loop.state.steps_in_epoch == self._plan.steps_per_epoch
        if every and global_step - self._last_step >= every and not is_epoch_end:
            self._save(global_step, score=None)

    def on_epoch(self, record: loop.EpochRecord) -> None:
        """Saves with the epoch's score."""
        score = monitors.score_of(self._best_by, record.metrics)
        self._save(record.global_step, score=score)

    def save_now(self) -> None:
        """Saves at once and waits until it is on disk."""
        global_step = int(self._step.global_step.numpy())
        if global_step != self._last_step:
            self._save(global_step, score=None)
        self._store.wait()

    def _save(self, global_step: int, *, score: float | None) -> None:
        assert self._loop is not None and self._plan is not None
        self._last_step = global_step
        if self._reader is None:
            return
        self._store.save(
            checkpoints.Checkpoint(
                global_step=global_step,
                arrays=self._reader.take(),
                loop={
                    "state": self._loop.state.to_dict(),
                    "monitors": _monitor_states(self._plan),
                    "execution": self._execution,
                    "log_offset": self._log.offset,
                },
                config=self._run_config,
                score=score,
            )
        )


def resume(
    checkpoint: checkpoints.Checkpoint,
    step: train_step.TrainStep,
    rate: schedule.WarmupSchedule,
    plan: loop.LoopPlan,
    log: logs.JsonLog,
) -> loop.LoopState:
    """Puts everything back to where a checkpoint was taken.

    Args:
        checkpoint: From the same recipe.
        step: The train step, whose variables are set.
        rate: The learning-rate schedule.
        plan: Its monitors are set.
        log: Cut back to the checkpoint.

    Returns:
        Where the loop goes on.

    Raises:
        ValueError: If the arrays do not fit the model.
    """
    snapshot.put_back(step, rate, checkpoint.arrays)
    for name, monitor in _monitors(plan).items():
        monitor.load(checkpoint.loop["monitors"][name])
    log.truncate(checkpoint.loop["log_offset"])
    logs.message(f"Training goes on from the checkpoint of step {checkpoint.global_step}.")
    return loop.LoopState.from_dict(dict(checkpoint.loop["state"]))


def _monitors(plan: loop.LoopPlan) -> dict[str, Any]:
    named = {"early_stopping": plan.early_stopping, "plateau": plan.plateau}
    return {name: monitor for name, monitor in named.items() if monitor is not None}


def _monitor_states(plan: loop.LoopPlan) -> dict[str, Any]:
    return {name: monitor.to_dict() for name, monitor in _monitors(plan).items()}
