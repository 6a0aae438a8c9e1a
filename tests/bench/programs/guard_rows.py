"""Runs the data guard over an ingested dataset in a process of its own.

Prints one JSON line: seconds without imports, the memory in MiB after them and at the peak, and how
many findings there are. Argument: the dataset's folder.
"""

import json
import pathlib
import sys
import time

from components.data_guard import guard
from components.data_guard.config import DataGuardConfig
from tests.bench.programs.ingest_rows import own_peak_mib


def main() -> None:
    """Runs the guard and prints what it took."""
    start_mib = own_peak_mib()
    start = time.perf_counter()
    found = guard.find_all(pathlib.Path(sys.argv[1]), DataGuardConfig())
    seconds = time.perf_counter() - start
    result = {
        "seconds": seconds,
        "start_mib": start_mib,
        "peak_mib": own_peak_mib(),
        "findings": len(found),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
