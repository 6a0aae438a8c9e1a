"""One of TFX's ExampleGens alone.

Prints one JSON line: seconds without imports. Arguments: `ImportExampleGen` or `CsvExampleGen`, the
folder of TFRecords or CSV files, output folder.
"""

import json
import pathlib
import sys
import time

from tfx import v1 as tfx


def main() -> None:
    """Runs a pipeline of one node and prints what it took."""
    component = getattr(tfx.components, sys.argv[1])
    folder, root = sys.argv[2], pathlib.Path(sys.argv[3])
    start = time.perf_counter()
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline(
            pipeline_name="import",
            pipeline_root=str(root / "pipeline"),
            components=[component(input_base=folder)],
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
