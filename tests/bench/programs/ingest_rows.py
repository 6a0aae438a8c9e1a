"""Ingests synthetic grey images of 28 x 28 px in a process of its own.

Prints one JSON line: seconds without imports, and the peak memory in MiB of this process and of the
largest of those it started. Arguments: number of rows, output folder.
"""

import json
import pathlib
import resource
import sys
import time

from components.ingest import ingest
from tests.components import data_factories


def main() -> None:
    """Runs the ingest and prints what it took."""
    num_rows, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    image = {"height_px": 28, "width_px": 28, "channels": 1}
    data = data_factories.data_config(image=image)
    source = data_factories.SyntheticSource(num_rows)
    start = time.perf_counter()
    ingest.ingest_source(source, data, seed=0, cache_dir=folder)
    seconds = time.perf_counter() - start
    workers_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mib": own_peak_mib() + workers_mib}))


def own_peak_mib() -> float:
    """Returns this process's peak; `getrusage` would count the program it was started from too."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


if __name__ == "__main__":
    main()
