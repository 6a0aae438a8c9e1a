"""TFX's CsvExampleGen alone, over a folder of CSV files.

Prints one JSON line: seconds without imports. Arguments: folder of CSV files, output folder.
"""

import json
import pathlib
import sys
import time

from tfx import v1 as tfx


def main() -> None:
    """Runs a pipeline of one node and prints what it took."""
    folder, root = sys.argv[1], pathlib.Path(sys.argv[2])
    start = time.perf_counter()
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline(
            pipeline_name="import",
            pipeline_root=str(root / "pipeline"),
            components=[tfx.components.CsvExampleGen(input_base=folder)],
            metadata_connection_config=(
                tfx.orchestration.metadata.sqlite_metadata_connection_config(
                    str(root / "metadata.sqlite")
                )
            ),
        )
    )
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
