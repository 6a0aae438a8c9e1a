"""The data guard's time and memory over synthetic examples of each kind.

Every guard runs in a process of its own, after an ingest in another one. Prints a Markdown table.

    .venv/bin/python -m tests.bench.bench_guard
"""

import argparse
import tempfile

from tests.bench import machine
from tests.bench.process import run_program

KINDS = ("table", "text", "image", "audio", "series")
SCALES = (10_000, 100_000, 1_000_000)


def measure(kind: str, num_rows: int) -> str:
    """Returns one line of the table."""
    with tempfile.TemporaryDirectory(prefix="bench_guard_") as folder:
        dataset = run_program("guard_prepare", kind, num_rows, folder)["folder"]
        found = run_program("guard_rows", dataset)
    return (
        f"| {kind} | {num_rows} | {found['seconds']:.1f} | {found['peak_mib']:.0f} "
        f"| {found['peak_mib'] - found['start_mib']:.0f} | {found['findings']} |"
    )


def main() -> None:
    """Prints a line for each kind and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=SCALES)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    asked = parser.parse_args()
    print(machine.describe())
    print("| input | rows | seconds | peak memory, MiB | of that beyond imports | findings |")
    print("|---|---|---|---|---|---|")
    for kind in asked.kinds:
        for num_rows in asked.rows:
            print(measure(kind, num_rows), flush=True)


if __name__ == "__main__":
    main()
