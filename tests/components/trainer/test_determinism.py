"""Deterministic operations are for a whole process, so that each test starts its own."""

import os
import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).parents[3]
_PROGRAM = """
import numpy as np
import tensorflow as tf
from components.trainer import determinism
from tests.components.trainer import toy


def is_refused():
    # Without a seed it has no deterministic form, and says so where determinism is on.
    try:
        tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float32)
    except (RuntimeError, tf.errors.InvalidArgumentError):
        return True
    return False


assert not is_refused()
model = toy.model(dropout_rate=0.5)
step, rate = toy.train_step(model, optimizer_name="adamw"), toy.rate()
before = [value.copy() for value in model.get_weights()]
cost = determinism.measure_and_enable(step, rate, toy.batches())
assert is_refused()
assert cost.with_it > 0 and cost.without_it > 0, cost
assert int(step.global_step) == 0
for old, new in zip(before, model.get_weights(), strict=True):
    np.testing.assert_array_equal(old, new)
assert step.run(toy.batches(), 8).wait_secs > 0
print(cost.sentence())
"""


def test_cost_is_measured_and_the_run_left_as_it_was():
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "Deterministic operations: a step takes " in result.stdout
