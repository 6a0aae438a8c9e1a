"""A child process that prepares the data while the engine process imports TensorFlow.

Usage: `python -m pipeline.prefetch`, with a PrefetchRequest as JSON on standard input. The engine's
ingest step then finds the data prepared. A fault in the data is known before TensorFlow is.
"""

import pathlib
import sys
import time

from components import child_process, progress
from components.ingest import errors, ingest, splits, spreading
from components.trainer import run_length
from pipeline.state.request import PrefetchRequest

STEP = "ingest"


def main() -> int:
    """Prepares the data of the request on standard input; returns the exit status."""
    child_process.interrupt_on_termination()
    request = PrefetchRequest.model_validate_json(sys.stdin.buffer.read())
    started = time.monotonic()
    progress.report("step_started", step=STEP)
    try:
        dataset = ingest.ingest(
            request.data,
            seed=request.seed,
            cache_dir=pathlib.Path(request.cache_dir),
            processes=spreading.choose(request.beam_options),
        )
        num_examples = dataset.manifest.splits[splits.TRAIN].num_rows
        run_length.check(request.training, num_examples=num_examples)
    except (ValueError, OSError) as error:
        progress.report(
            "prefetch_failed",
            step=STEP,
            sentence=str(error),
            seconds=time.monotonic() - started,
            bad_recipe=isinstance(error, errors.BadRecipeError),
        )
        return 1
    progress.report("prefetched", step=STEP, seconds=time.monotonic() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
