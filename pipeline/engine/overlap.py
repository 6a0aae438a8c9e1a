"""Starts early what later steps need: imports while the model trains, a process before its use."""

import threading
from collections.abc import Sequence
from typing import Any

from components.model_check import server
from pipeline.runners import narrow_imports

# What the steps after the trainer import; the report draws with Matplotlib.
_LATER_MODULES = (
    "tensorflow_model_analysis",
    "tfx.components.evaluator.executor",
    "components.report.figures",
)


# Of the step `reference`, which recipes with a step `transform` have.
_REFERENCE_MODULES = ("sklearn.ensemble", "sklearn.svm")


def on_event(event: dict[str, Any]) -> None:
    """Starts what a later step will need; `components.progress` calls it in the main thread."""
    kind, step = event["event"], event.get("step")
    if kind == "step_started" and step == "trainer":
        threading.Thread(target=_import, args=(_LATER_MODULES,), daemon=True).start()
    if kind == "step_finished" and step == "transform":
        threading.Thread(target=_import, args=(_REFERENCE_MODULES,), daemon=True).start()
    is_fitted = kind == "epoch" and event["epoch"] == event["num_epochs"]
    # The export uses one core. A training that stops early, or is cached, has no last epoch.
    if is_fitted or (kind == "step_started" and step == "evaluator"):
        server.start_ahead()


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        narrow_imports.load(name)
