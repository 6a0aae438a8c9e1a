import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from components.trainer import strategy


def test_unknown_strategy_lists_the_valid_ones():
    with pytest.raises(ValueError, match="must be one of auto, one_device, .* strategy='mirored'"):
        strategy.make_strategy("mirored")


def test_one_device_is_the_default_strategy():
    assert strategy.make_strategy("one_device") is tf.distribute.get_strategy()


def test_auto_on_a_machine_without_accelerators_is_one_device(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("TPU_NAME", raising=False)
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("This machine has a GPU.")
    assert strategy.make_strategy("auto") is tf.distribute.get_strategy()


_TWICE = """
import tensorflow as tf
from components.trainer import strategy

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
for size in (3, 5):
    mirrored = strategy.make_strategy("mirrored")

    def total():
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, [tf.ones(size), tf.ones((2, size))])

    @tf.function
    def loop(num_steps):
        sums = tf.zeros(size)
        for _ in tf.range(num_steps):
            first, _ = mirrored.run(total)
            sums += mirrored.experimental_local_results(first)[0]
        return sums

    assert loop(tf.constant(4)).numpy().tolist() == [8.0] * size
"""


def test_mirrored_twice_in_one_process_reduces_in_loops_on_the_device(tmp_path):
    # With the default collectives the second strategy meets the first one's shapes.
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[3])}
    # A file, because a loop is converted from its source.
    program = tmp_path / "twice.py"
    program.write_text(_TWICE)
    result = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_multi_worker_without_a_cluster_is_refused(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="TF_CONFIG=None. Set it, or use the strategy mirrored"):
        strategy.make_strategy("multi_worker_mirrored")


def test_tpu_on_a_machine_without_one_is_refused(monkeypatch):
    monkeypatch.setenv("TPU_NAME", "")
    with pytest.raises(
        ValueError, match="needs a TPU of this machine.*TPU_NAME=''. Use the strategy auto"
    ):
        strategy.make_strategy("tpu")


def test_batch_divides_over_replicas_and_micro_batches():
    assert strategy.per_replica_batch_size(96, num_replicas=4, accumulation_steps=3) == 24


@pytest.mark.parametrize(
    ("size", "nearest"), [(100, "96 and 104"), (130, "128 and 136"), (3, "8 and 16")]
)
def test_indivisible_batch_names_the_nearest_valid_sizes(size, nearest):
    with pytest.raises(ValueError, match=f"global_batch_size={size}, .* sizes: {nearest}"):
        strategy.per_replica_batch_size(size, num_replicas=4, accumulation_steps=2)
