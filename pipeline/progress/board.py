"""The state of a run, built up from progress events; displays read it and the summary keeps it."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pipeline.state import steps

IMPORTS = "imports"
_IMPORTS_TITLE = "Start TensorFlow"

# The metrics of an epoch that have a place on the line.
_SHOWN_METRICS = ("loss", "accuracy", "mae", "val_loss", "val_accuracy", "val_mae")

Status = Literal["running", "done", "cached", "refused", "failed", "stopped"]


@dataclasses.dataclass
class Line:
    """One step as shown.

    Attributes:
        title: What the step does, for people.
        started: Clock reading when it began.
        status: How it stands.
        seconds: How long it took; None while it runs.
        detail: What it last told, such as `epoch 3 of 10, loss 0.412`.
        seconds_ahead: How long another process worked for it before it began.
    """

    title: str
    started: float
    status: Status = "running"
    seconds: float | None = None
    detail: str = ""
    seconds_ahead: float = 0.0


class Board:
    """Takes events and holds a line per step that has started.

    Attributes:
        lines: Step name -> line, in the order in which they started.
        sentence: Why the run stopped; empty if it did not.
        refused: True if a gate stopped it.
        result: Fields of the engine's `result` event; empty until it comes.
        data_findings: What the data guard found, also when it stopped the run for that.
        num_steps: How many steps the recipe has.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        num_steps: int = len(steps.STEPS),
    ):
        self.clock = clock
        self.num_steps = num_steps
        self.lines: dict[str, Line] = {}
        self.sentence = ""
        self.refused = False
        self.result: dict[str, Any] = {}
        self.data_findings: list[dict[str, Any]] = []

    def apply(self, event: Mapping[str, Any]) -> str | None:
        """Takes one event, described in `pipeline.state.request`.

        Returns:
            The step whose line changed, or None.
        """
        kind, step = event.get("event"), event.get("step")
        if kind == "engine_started":
            self.lines[IMPORTS] = Line(_IMPORTS_TITLE, self.clock())
            return IMPORTS
        if kind == "imports":
            return self._finish(IMPORTS, event, "done")
        if kind == "result":
            self.result = {key: value for key, value in event.items() if key != "event"}
            return None
        if kind == "data_findings":
            self.data_findings = list(event["findings"])
            return None
        if not isinstance(step, str) or step not in steps.BY_NAME:
            return None
        return self._apply_to_step(str(kind), step, event)

    def stop(self) -> None:
        """Marks what still runs as stopped."""
        for line in self.lines.values():
            if line.status == "running":
                line.status, line.seconds = "stopped", self.clock() - line.started

    def seconds(self) -> dict[str, float]:
        """Step name -> seconds, of all that ended; without the imports."""
        return {
            name: round(line.seconds, 3)
            for name, line in self.lines.items()
            if name != IMPORTS and line.seconds is not None
        }

    def _apply_to_step(self, kind: str, step: str, event: Mapping[str, Any]) -> str | None:
        if kind == "step_started":
            if step in self.lines:
                # Ingest was started ahead of the engine.
                return None
            self.lines[step] = Line(steps.BY_NAME[step].title, self.clock())
            return step
        if kind == "step_finished":
            was_ready = step in self.lines and self.lines[step].status == "done"
            self._finish(step, event, "cached" if event.get("cached") else "done")
            return None if was_ready else step
        if kind in ("gate_refused", "step_failed", "prefetch_failed"):
            # TFX wraps a gate's refusal in a failure of its step: the first sentence is the reason.
            self.sentence = self.sentence or str(event.get("sentence", ""))
            if self.refused:
                return None
            self.refused = kind == "gate_refused"
            return self._finish(step, event, "refused" if self.refused else "failed")
        if kind == "prefetched" and step in self.lines:
            self.lines[step].seconds_ahead = float(event.get("seconds", 0.0))
            # The engine's own part of the step is a moment, to come.
            return self._finish(step, {"seconds": 0.0}, "done")
        detail = detail_text(event)
        if detail and step in self.lines:
            self.lines[step].detail = detail
            return step
        return None

    def _finish(self, step: str, event: Mapping[str, Any], status: Status) -> str:
        now = self.clock()
        title = _IMPORTS_TITLE if step == IMPORTS else steps.BY_NAME[step].title
        line = self.lines.setdefault(step, Line(title, now))
        line.status = status
        line.seconds = line.seconds_ahead + float(event.get("seconds", now - line.started))
        return step


def detail_text(event: Mapping[str, Any]) -> str:
    """Says in a few words what a step tells about itself.

    >>> detail_text({"event": "rows", "rows": 1797, "total": 70000})
    '1,797 of 70,000 rows'
    >>> detail_text({"event": "epoch", "epoch": 3, "num_epochs": 10, "metrics": {"loss": 0.41234}})
    'epoch 3 of 10, loss 0.4123'
    """
    kind = event.get("event")
    if kind == "rows":
        rows, total = event.get("rows", 0), event.get("total")
        return f"{rows:,} of {total:,} rows" if total and total != rows else f"{rows:,} rows"
    if kind == "epoch":
        return f"epoch {event.get('epoch')} of {event.get('num_epochs')}{_metrics_text(event)}"
    if kind == "message":
        return str(event.get("text", ""))
    return ""


def _metrics_text(event: Mapping[str, Any]) -> str:
    metrics = event.get("metrics", {})
    texts = [f", {name} {metrics[name]:.4f}" for name in _SHOWN_METRICS if name in metrics]
    if "rows_per_sec" in metrics:
        texts.append(f", {metrics['rows_per_sec']:,.0f} rows/s")
    return "".join(texts)
