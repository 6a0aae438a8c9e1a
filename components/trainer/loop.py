"""The training loop: epochs of steps, validation after each, and a state that can be resumed."""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from components.trainer import metrics, monitors, schedule, signals
from components.trainer import step as train_step


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """What one epoch did.

    Attributes:
        epoch: Counted from 1.
        global_step: Steps since the beginning of the run.
        metrics: `loss`, `accuracy` and so on over the training examples of the epoch, while the
            weights changed; `val_loss`, `val_accuracy` and so on on the validation split after it.
        learning_rate: Rate of the epoch's last step.
        rows_per_sec: Training examples per second, validation apart; since the resume, if the epoch
            was resumed.
        wait_share: Share of the training time in which the step waited for its batch.
        seconds: Duration of the epoch, validation included; since the resume, likewise.
    """

    epoch: int
    global_step: int
    metrics: dict[str, float]
    learning_rate: float
    rows_per_sec: float
    wait_share: float
    seconds: float

    def flat(self) -> dict[str, Any]:
        """Returns one level of names and values, as a line of a log has them."""
        values = dataclasses.asdict(self)
        return {**values.pop("metrics"), **values}


@dataclasses.dataclass(kw_only=True)
class LoopState:
    """Where the loop is.

    Attributes:
        records: Finished epochs.
        steps_in_epoch: Steps taken in the running epoch.
        sums: Sums over the examples of the running epoch.
        learning_rate: Rate of the last step.
        is_stopped: True once early stopping has ended the run.
    """

    records: list[EpochRecord] = dataclasses.field(default_factory=list)
    steps_in_epoch: int = 0
    sums: dict[str, float] = dataclasses.field(default_factory=dict)
    learning_rate: float = 0.0
    is_stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as JSON can hold it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "LoopState":
        """Takes over a state that `to_dict` returned."""
        records = [EpochRecord(**record) for record in values["records"]]
        return cls(**{**values, "records": records})


class Hook(Protocol):
    """Something that looks at the run and does not change it."""

    def on_steps(self, report: train_step.StepsReport, global_step: int, seconds: float) -> None:
        """Called after each return to Python, `seconds` after the last one."""

    def on_epoch(self, record: EpochRecord) -> None:
        """Called after each epoch, when its record is part of the loop's state."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopPlan:
    """How long the loop runs, and what may shorten it.

    Attributes:
        num_epochs: Epochs, > 0.
        steps_per_epoch: Steps, > 0.
        steps_per_execution: Steps between two returns to Python, > 0.
        early_stopping: Ends the run, if there is one.
        plateau: Lowers the rate, if there is one.
    """

    num_epochs: int
    steps_per_epoch: int
    steps_per_execution: int
    early_stopping: monitors.EarlyStopping | None = None
    plateau: monitors.Plateau | None = None


class Loop:
    """Trains for whole epochs, from any state.

    Args:
        step: The train step.
        rate: The schedule, whose factor a plateau lowers.
        plan: How long.
        evaluate: Measures the model on the validation split: `loss`, `accuracy` and so on.
        hooks: Called in order; the one that writes checkpoints comes last, so that it holds what
            the others have done.
        state: Where to begin.
    """

    def __init__(
        self,
        step: train_step.TrainStep,
        rate: schedule.WarmupSchedule,
        plan: LoopPlan,
        *,
        evaluate: Callable[[], dict[str, float]],
        hooks: Sequence[Hook] = (),
        state: LoopState | None = None,
    ):
        self.state = LoopState() if state is None else state
        self._step = step
        self._rate = rate
        self._plan = plan
        self._evaluate = evaluate
        self._hooks = hooks

    def run(
        self, batches: Iterator[Any], termination: signals.Termination | None = None
    ) -> list[EpochRecord]:
        """Trains to the end.

        Args:
            batches: Endless iterator of training batches, which begins at the state's step.
            termination: Asked after each return to Python whether to stop.

        Returns:
            One record for each epoch.

        Raises:
            signals.TerminatedError: If it was asked to stop; hooks have seen every step by then.
        """
        while len(self.state.records) < self._plan.num_epochs and not self.state.is_stopped:
            self._run_epoch(batches, termination)
        return self.state.records

    def _run_epoch(self, batches: Iterator[Any], termination: signals.Termination | None) -> None:
        started = time.monotonic()
        rows_before = self.state.sums.get("weight", 0.0)
        wait_secs = 0.0
        while self.state.steps_in_epoch < self._plan.steps_per_epoch:
            report = self._run_steps(batches)
            wait_secs += report.wait_secs
            if termination is not None:
                termination.check(self._global_step())
        train_secs = max(time.monotonic() - started, 1e-9)
        rows = self.state.sums["weight"] - rows_before
        measured = self._evaluate()
        record = EpochRecord(
            epoch=len(self.state.records) + 1,
            global_step=self._global_step(),
            metrics={
                **metrics.means(self.state.sums),
                **{f"val_{name}": value for name, value in measured.items()},
            },
            learning_rate=self.state.learning_rate,
            rows_per_sec=rows / train_secs,
            wait_share=wait_secs / train_secs,
            seconds=time.monotonic() - started,
        )
        self._finish_epoch(record)
        if termination is not None:
            termination.check(self._global_step())

    def _run_steps(self, batches: Iterator[Any]) -> train_step.StepsReport:
        started = time.monotonic()
        left = self._plan.steps_per_epoch - self.state.steps_in_epoch
        num_steps = min(self._plan.steps_per_execution, left)
        report = self._step.run(batches, num_steps)
        for name, total in report.totals.items():
            self.state.sums[name] = self.state.sums.get(name, 0.0) + total
        self.state.steps_in_epoch += num_steps
        self.state.learning_rate = report.learning_rate
        for hook in self._hooks:
            hook.on_steps(report, self._global_step(), time.monotonic() - started)
        return report

    def _finish_epoch(self, record: EpochRecord) -> None:
        self.state.records.append(record)
        self.state.steps_in_epoch = 0
        self.state.sums = {}
        values = record.metrics
        if self._plan.plateau is not None:
            factor = self._plan.plateau.factor(values)
            self._rate.factor.assign(self._rate.factor * factor)
        if self._plan.early_stopping is not None:
            self.state.is_stopped = self._plan.early_stopping.should_stop(values)
        for hook in self._hooks:
            hook.on_epoch(record)

    def _global_step(self) -> int:
        return len(self.state.records) * self._plan.steps_per_epoch + self.state.steps_in_epoch
