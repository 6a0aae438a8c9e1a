"""Fixtures that tests of several packages share."""

import dataclasses
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests import number_recipe, text_recipe

_PROJECT_DIR = pathlib.Path(__file__).parents[1]
_RUN_TIMEOUT_SECS = 600

# A shell lets what it starts in the background ignore Ctrl-C, and the processes that tests
# interrupt would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclasses.dataclass(frozen=True)
class FinishedRun:
    """A run of a recipe.

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


def environment(cache_home: pathlib.Path) -> dict[str, str]:
    """The environment variables of a `kerasline` process with a cache of its own."""
    return {**os.environ, "PYTHONPATH": str(_PROJECT_DIR), "XDG_CACHE_HOME": str(cache_home)}


def run_kerasline(
    *words: str, cache_home: pathlib.Path, cwd: pathlib.Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `kerasline WORDS` in a process of its own and captures what it prints."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "pipeline.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_SECS,
        check=False,
        cwd=cwd,
        env=environment(cache_home),
    )


@pytest.fixture(scope="session")
def session_dir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder that all processes of this test session share."""
    # Under pytest-xdist each worker has a folder of its own below the session's.
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def cache_home(session_dir: pathlib.Path) -> pathlib.Path:
    """A cache folder for this session, so that tests neither need nor fill the user's."""
    path = session_dir / "cache_home"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture(scope="session")
def digits_run(session_dir: pathlib.Path, cache_home: pathlib.Path) -> FinishedRun:
    """One real run of the digits recipe, made once and shared; do not change what it left."""
    return _run_once("digits", "digits", session_dir, cache_home)


@pytest.fixture(scope="session")
def taxi_run(session_dir: pathlib.Path, cache_home: pathlib.Path) -> FinishedRun:
    """One real run of the taxi recipe, a table, likewise."""
    return _run_once("taxi", "taxi", session_dir, cache_home)


@pytest.fixture(scope="session")
def texts_run(session_dir: pathlib.Path, cache_home: pathlib.Path) -> FinishedRun:
    """One real run on small texts, likewise."""
    return _run_once("texts", str(text_recipe.write(session_dir)), session_dir, cache_home)


@pytest.fixture(scope="session")
def prices_run(session_dir: pathlib.Path, cache_home: pathlib.Path) -> FinishedRun:
    """One real run that predicts numbers of a small table, likewise."""
    return _run_once("prices", str(number_recipe.write(session_dir)), session_dir, cache_home)


def _run_once(
    name: str, recipe: str, session_dir: pathlib.Path, cache_home: pathlib.Path
) -> FinishedRun:
    root, answer = session_dir / f"{name}_run", session_dir / f"{name}_run.json"
    with (session_dir / f"{name}_run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answer.exists():
            words = ("run", recipe, "--root", str(root), "--json")
            done = run_kerasline(*words, cache_home=cache_home)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            answer.write_text(json.dumps({"out": done.stdout, "err": done.stderr}))
        told = json.loads(answer.read_text())
    return FinishedRun(root=root, summary=json.loads(told["out"]), progress=told["err"])
