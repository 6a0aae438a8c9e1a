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


def test_mirrored_twice_in_one_process_reduces_correctly():
    for _ in range(2):
        mirrored = strategy.make_strategy("mirrored")
        total = mirrored.reduce("SUM", mirrored.run(lambda: tf.constant(2.0)), axis=None)
        assert float(total) == 2.0 * mirrored.num_replicas_in_sync


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
