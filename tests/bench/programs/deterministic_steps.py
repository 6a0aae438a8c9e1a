"""Trains a reference model with or without deterministic operations; prints seconds per step.

Arguments: name of the reference, `on` or `off`, steps.
"""

import json
import sys

import tensorflow as tf

from tests.bench.reference_models import REFERENCES
from tests.bench.training_runs import OwnRun

STEPS_PER_EXECUTION = 8


def main() -> None:
    """Trains and answers."""
    name, determinism, num_steps = sys.argv[1:]
    run = OwnRun(REFERENCES[name])
    if determinism == "on":
        tf.config.experimental.enable_op_determinism()
    run.step_secs(STEPS_PER_EXECUTION, steps_per_execution=STEPS_PER_EXECUTION)
    seconds = run.step_secs(int(num_steps), steps_per_execution=STEPS_PER_EXECUTION)
    print(json.dumps({"step_secs": seconds}))


if __name__ == "__main__":
    main()
