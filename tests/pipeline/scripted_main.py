"""The `kerasline` command with the engine of `scripted_engine`."""

import sys

from pipeline import engine_run
from pipeline.cli import main

engine_run.ENGINE_MODULE = "tests.pipeline.scripted_engine"

if __name__ == "__main__":
    sys.exit(main.main())
