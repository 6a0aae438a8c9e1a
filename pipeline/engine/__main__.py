"""The engine process: `python -m pipeline.engine`, with an EngineRequest as JSON on standard input.

It imports TensorFlow and TFX while its parent prepares the data, waits for the request, and runs
the DAG in this one process, so that everything is imported once. See `pipeline.state.request` for
what it answers.
"""

import sys
import time

from components import child_process, gates, progress
from pipeline.runners import narrow_imports

_EXIT_FAILED = 1
_EXIT_GATE_REFUSED = 3
_EXIT_INTERRUPTED = 130


def main() -> int:
    """Runs the request on standard input; returns the exit status."""
    started = time.monotonic()
    child_process.interrupt_on_termination()
    narrow_imports.install()
    try:
        # Here, and not at the top: whatever it imports must come after `install`.
        from pipeline.engine import run

        progress.report("imports", seconds=time.monotonic() - started)
        run.run_request(sys.stdin.buffer.read())
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except gates.GateRefusedError as refusal:
        print(refusal, file=sys.stderr)
        return _EXIT_GATE_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
