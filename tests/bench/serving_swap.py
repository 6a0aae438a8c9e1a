"""Measures what loading another version costs those who ask meanwhile."""

import pathlib
import shutil
import time
import urllib.error
import urllib.request

import numpy as np

from tests.bench import serving_load, serving_processes

NUM_SWAPS = 3
_LOAD_SECS = 6.0
_SWAP_AFTER_SECS = 2.0


def measure_swap(
    folder: pathlib.Path, server: serving_processes.OwnServer, version: int, clients: int
) -> serving_processes.Row:
    """Publishes a version under load; returns the p99 before and from then until it answers."""
    timeline = folder / "timeline.npy"
    load = serving_load.start_load(
        folder,
        "grpc",
        server.grpc_port,
        clients=clients,
        seconds=_LOAD_SECS,
        extra=("--timeline", str(timeline)),
    )
    time.sleep(_SWAP_AFTER_SECS)
    aside = folder / f"aside_{version}"
    shutil.copytree(folder / "model" / "1", aside)
    published_at = time.time()
    aside.rename(folder / "model" / str(version))
    available_at = _wait_until_available(server.rest_port, version)
    serving_load.finish_load(load)
    ended_at, latencies = np.load(timeline)
    during = (ended_at >= published_at) & (ended_at - latencies <= available_at + 0.5)
    before = ended_at < published_at
    return {
        "p99_before_us": float(np.percentile(latencies[before], 99)) * 1e6,
        "p99_during_us": float(np.percentile(latencies[during], 99)) * 1e6,
        "max_during_us": float(latencies[during].max()) * 1e6,
        "seconds": available_at - published_at,
    }


def _wait_until_available(rest_port: int, version: int) -> float:
    url = f"http://127.0.0.1:{rest_port}/v1/models/conv/versions/{version}"
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                if b"AVAILABLE" in response.read():
                    return time.time()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
        time.sleep(0.05)
    raise SystemExit(f"Version {version} did not become available.")
