"""Starts the fresh process of the model check, ahead of time if somebody asks."""

import json
import os
import subprocess
import sys
from typing import Any

from components import child_process

_MODULE = "components.model_check.fresh_process"
_TIMEOUT_SECS = 600

# Started by `start_ahead` and not yet used; at most one.
_waiting: list[subprocess.Popen[bytes]] = []


def start_ahead() -> None:
    """Starts a fresh process now, so that its imports overlap with other work.

    Call it from the thread that will ask: the process ends with that thread.
    """
    if not _waiting:
        _waiting.append(_start())


def discard() -> None:
    """Ends a process that was started ahead and is not needed."""
    while _waiting:
        process = _waiting.pop()
        process.kill()
        process.communicate()


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Lets a fresh process serve a model once.

    Args:
        request: `model_dir`, and `inputs`: signature name -> rows that JSON can hold.

    Returns:
        Signature name -> `probabilities`, `class_ids` and `classes`, or `error`.

    Raises:
        RuntimeError: If the process fails, with the last line that it wrote.
    """
    process = _waiting.pop() if _waiting else _start()
    line = json.dumps(request).encode() + b"\n"
    try:
        output, errors = process.communicate(line, timeout=_TIMEOUT_SECS)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise RuntimeError(
            "The exported model could not be served in a fresh process. "
            f"Received: exit status {process.returncode}, and {lines[-1]}"
        )
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def _start() -> subprocess.Popen[bytes]:
    return child_process.start(
        [sys.executable, "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The child finds this project where this process found it.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
