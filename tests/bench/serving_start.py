"""Measures what a start of the server takes: until it is ready, and in its first request."""

import pathlib
import statistics
import subprocess
import sys
import time

from tests.bench import process, serving_load, serving_processes

NUM_STARTS = 5


def measure_starts(folder: pathlib.Path) -> dict[str, list[serving_processes.Row]]:
    """Starts the server NUM_STARTS times, and as often a process that only loads the graph.

    Returns:
        `bare` and `server`: `ready_secs` of each start, in turn; and of the server, what its first
        client met.
    """
    rows: dict[str, list[serving_processes.Row]] = {"bare": [], "server": []}
    for _ in range(NUM_STARTS):
        rows["bare"].append({"ready_secs": _bare_secs(folder)})
        begins_at = time.monotonic()
        server = serving_processes.OwnServer(folder, ["--grpc_frontend=http2"])
        ready_secs = time.monotonic() - begins_at
        try:
            load = serving_load.finish_load(
                serving_load.start_load(
                    folder,
                    "grpc",
                    server.grpc_port,
                    clients=1,
                    seconds=serving_load.LOAD_SECS,
                    extra=("--rests", "5"),
                )
            )
        finally:
            server.stop()
        rows["server"].append({**load, "ready_secs": ready_secs})
    return rows


def _bare_secs(folder: pathlib.Path) -> float:
    """Times a process that imports TensorFlow and loads the graph."""
    code = (
        f"from {serving_processes.PROGRAMS} import raw_callable\n"
        f"raw_callable.load({str(folder / 'model' / '1')!r})\n"
        "print()"
    )
    begins_at = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        env=serving_processes.environment(),
        cwd=process.REPOSITORY,
    )
    return time.monotonic() - begins_at


def median_ratio(
    rows: list[serving_processes.Row], name: str, others: list[serving_processes.Row], of: str
) -> float:
    """Returns the median over the starts of one figure's ratio to another."""
    return statistics.median(row[name] / other[of] for row, other in zip(rows, others, strict=True))
