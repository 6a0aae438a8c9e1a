"""Starts early what later steps need: imports while the model trains, a process before its use."""

import threading

from components.model_check import server
from pipeline.runners import narrow_imports

# What the steps after the trainer import; Matplotlib is drawn with by the report.
_LATER_MODULES = (
    "tensorflow_model_analysis",
    "tfx.components.evaluator.executor",
    "components.report.figures",
)


def before_step(step: str) -> None:
    """Starts what a later step will need; call it from the main thread before each step."""
    if step == "trainer":
        threading.Thread(target=_import_later_modules, daemon=True).start()
    elif step == "evaluator":
        server.start_ahead()


def _import_later_modules() -> None:
    for name in _LATER_MODULES:
        narrow_imports.load(name)
