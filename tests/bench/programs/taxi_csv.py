"""Taxi trips as one CSV file of any size: the ones that TFX ships, again and again, each changed.

Prints one JSON line: the file's size in MB. Arguments: output file, size in MB, and a seed if files
of the same size should differ.
"""

import json
import pathlib
import sys

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.csv

from components.ingest.sources import files

TRIPS = "package://tfx/examples/chicago_taxi_pipeline/data/big_tipper_label/data.csv"
LABEL = "big_tipper"
# Numbers are stretched by up to this share, so that no two trips are the same.
_STRETCH = 0.2
_STRETCHED = ("fare", "tips", "trip_miles")
# Whole numbers are moved by up to this much.
_MOVED = {"trip_start_timestamp": 10_000_000, "trip_seconds": 600}


def main() -> None:
    """Writes the file and prints its size."""
    path, size_mb = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    (trips,) = files.list_files([TRIPS])
    table = pyarrow.csv.read_csv(trips.uri)
    generator = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as file:
        file.write(",".join(table.column_names).encode() + b"\n")
        while file.tell() < size_mb * 1e6:
            pyarrow.csv.write_csv(changed(table, generator), file, options)
    print(json.dumps({"mb": path.stat().st_size / 1e6}))


def changed(table: pyarrow.Table, generator: np.random.Generator) -> pyarrow.Table:
    """Returns the trips with other numbers; missing values stay missing."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    num_rows = table.num_rows
    for name in _STRETCHED:
        factors = 1 + _STRETCH * generator.random(num_rows)
        columns[name] = pyarrow.compute.round(
            pyarrow.compute.multiply(columns[name], pyarrow.array(factors)), 2
        )
    for name, distance in _MOVED.items():
        moves = pyarrow.array(generator.integers(0, distance, num_rows))
        columns[name] = pyarrow.compute.add(columns[name], moves)
    return pyarrow.table(columns)


if __name__ == "__main__":
    main()
