"""Fixtures that tests of several packages share."""

import dataclasses
import fcntl
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

_PROJECT_DIR = pathlib.Path(__file__).parents[1]
_RUN_TIMEOUT_SECS = 600


@dataclasses.dataclass(frozen=True)
class FinishedRun:
    """A run of the digits recipe.

    Attributes:
        root: What `--root` named.
        summary: What `--json` printed.
        progress: What went to standard error.
    """

    root: pathlib.Path
    summary: dict[str, Any]
    progress: str

    @property
    def published(self) -> pathlib.Path:
        """The published SavedModel."""
        return pathlib.Path(self.summary["published"]["path"])


def run_kerasline(*words: str, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `kerasline WORDS` in a process of its own and captures what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(_PROJECT_DIR)}
    return subprocess.run(
        [sys.executable, "-P", "-m", "pipeline.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_SECS,
        check=False,
        cwd=cwd,
        env=environment,
    )


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """One real run of the digits recipe, made once and shared; do not change what it left."""
    # Under pytest-xdist each worker has a folder of its own below the session's.
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    root, answer = shared / "digits_run", shared / "digits_run.json"
    with (shared / "digits_run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answer.exists():
            done = run_kerasline("run", "digits", "--root", str(root), "--json")
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            answer.write_text(json.dumps({"out": done.stdout, "err": done.stderr}))
        told = json.loads(answer.read_text())
    return FinishedRun(root=root, summary=json.loads(told["out"]), progress=told["err"])
