"""Runs the programs of the benchmarks, each in a process of its own."""

import contextlib
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

import psutil

REPOSITORY = pathlib.Path(__file__).parents[2]
_SAMPLE_SECS = 0.2


def run_program(name: str, *arguments: object) -> dict[str, Any]:
    """Runs a program of `tests.bench.programs` and returns what it printed."""
    done = subprocess.run(
        _words(name, arguments), cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return _result(name, done.returncode, done.stdout, done.stderr)


def run_measured(name: str, *arguments: object) -> dict[str, Any]:
    """Does the same, and adds `total_seconds` of the whole process and `peak_mib`.

    That is the largest memory of the process and all that it started, looked at five times a
    second, in which pages that they share count once.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        _words(name, arguments),
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak_bytes = 0
    while process.poll() is None:
        peak_bytes = max(peak_bytes, _tree_bytes(process.pid))
        time.sleep(_SAMPLE_SECS)
    seconds = time.perf_counter() - started
    found = _result(name, process.returncode, *process.communicate())
    return {**found, "total_seconds": seconds, "peak_mib": peak_bytes / 2**20}


def _tree_bytes(pid: int) -> int:
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                info = process.memory_full_info()
                total += getattr(info, "pss", info.rss)
    return total


def _words(name: str, arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", f"tests.bench.programs.{name}", *map(str, arguments)]


def _result(name: str, returncode: int, output: str, errors: str) -> dict[str, Any]:
    if returncode:
        raise SystemExit(f"{name} ended with {returncode}: {errors[-2000:]}")
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found
