"""Runs the programs of the benchmarks, each in a process of its own."""

import json
import pathlib
import subprocess
import sys
from typing import Any

REPOSITORY = pathlib.Path(__file__).parents[2]


def run_program(name: str, *arguments: object) -> dict[str, Any]:
    """Runs a program of `tests.bench.programs` and returns what it printed."""
    words = [sys.executable, "-m", f"tests.bench.programs.{name}", *map(str, arguments)]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
