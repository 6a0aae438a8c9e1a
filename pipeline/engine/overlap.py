"""Starts early what later steps need: imports while the model trains, a process before its use."""

import threading
from typing import Any

from components.model_check import server
from pipeline.runners import narrow_imports

# What the steps after the trainer import; the report draws with Matplotlib.
_LATER_MODULES = (
    "tensorflow_model_analysis",
    "tfx.components.evaluator.executor",
    "components.report.figures",
)


def on_event(event: dict[str, Any]) -> None:
    """Starts what a later step will need; `components.progress` calls it in the main thread."""
    kind, step = event["event"], event.get("step")
    if kind == "step_started" and step == "trainer":
        threading.Thread(target=_import_later_modules, daemon=True).start()
    is_fitted = kind == "epoch" and event["epoch"] == event["num_epochs"]
    # The export uses one core. A training that stops early, or is cached, has no last epoch.
    if is_fitted or (kind == "step_started" and step == "evaluator"):
        server.start_ahead()


def _import_later_modules() -> None:
    for name in _LATER_MODULES:
        narrow_imports.load(name)
