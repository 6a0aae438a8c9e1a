"""Loads a server of the serving benchmark from a process of its own."""

import json
import pathlib
import subprocess
import sys

from tests.bench import process, serving_processes

LOAD_SECS = 2.5
# More than any load lasts.
_FINISH_SECS = 70.0


def start_load(
    folder: pathlib.Path, protocol: str, port: int, *, clients: int, seconds: float, extra=()
) -> subprocess.Popen:
    """Starts a load generator, which prints one line of JSON at its end."""
    command = [
        sys.executable,
        "-m",
        f"{serving_processes.PROGRAMS}.load_generator",
        protocol,
        str(port),
    ]
    command += [str(folder / f"{protocol}.bin"), "--clients", str(clients)]
    command += ["--seconds", str(seconds), *extra]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=serving_processes.environment(),
        cwd=process.REPOSITORY,
    )


def finish_load(running: subprocess.Popen) -> serving_processes.Row:
    """Returns what a load generator measured."""
    output, _ = running.communicate(timeout=_FINISH_SECS)
    if running.returncode:
        raise SystemExit(f"The load generator ended with {running.returncode}.")
    return json.loads(output)


def measure_load(
    folder: pathlib.Path, protocol: str, port: int, clients: int
) -> serving_processes.Row:
    """Loads a port for LOAD_SECS."""
    return finish_load(start_load(folder, protocol, port, clients=clients, seconds=LOAD_SECS))
