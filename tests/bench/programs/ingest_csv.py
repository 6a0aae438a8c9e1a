"""Ingests a CSV file of taxi trips, all of its columns, in a process of its own.

Prints one JSON line: seconds without imports, the rows, and the dataset's digest. Arguments: the
file or a pattern of files, cache folder.
"""

import json
import pathlib
import sys
import time

from components.ingest import ingest
from components.ingest.config import DataConfig
from components.ingest.sources import files
from tests.bench.programs import taxi_csv

CATEGORIES = frozenset(
    {
        "trip_start_month",
        "trip_start_hour",
        "trip_start_day",
        "pickup_community_area",
        "dropoff_community_area",
        "pickup_census_tract",
        "dropoff_census_tract",
        "payment_type",
        "company",
    }
)


def data_config(path: str) -> DataConfig:
    """Returns a recipe's data that reads every column."""
    file = files.list_files([path])[0]
    with file.open_stream() as stream:
        names = stream.readline().decode().strip().split(",")
    columns = {
        name: {"kind": "category" if name in CATEGORIES else "number"}
        for name in names
        if name != taxi_csv.LABEL
    }
    return DataConfig.from_dict(
        {
            "source": {"kind": "csv", "path": path},
            "table": {"columns": columns},
            "label": {"source_name": taxi_csv.LABEL, "class_names": ["0", "1"]},
            "splits": {"validation_share": 0.1, "test_share": 0.2},
        }
    )


def main() -> None:
    """Runs the ingest and prints what it took."""
    data, folder = data_config(sys.argv[1]), pathlib.Path(sys.argv[2])
    start = time.perf_counter()
    dataset = ingest.ingest(data, seed=0, cache_dir=folder)
    seconds = time.perf_counter() - start
    num_rows = sum(split.num_rows for split in dataset.manifest.splits.values())
    print(json.dumps({"seconds": seconds, "rows": num_rows, "digest": dataset.digest}))


if __name__ == "__main__":
    main()
