import keras
import pytest
import tensorflow as tf

from components.trainer import precision


def test_auto_on_a_processor_is_float32():
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("This machine has a GPU.")
    assert precision.resolve_policy("auto") == "float32"


@pytest.mark.parametrize(
    ("capability", "policy"),
    [((6, 1), "float32"), ((7, 5), "mixed_float16"), ((9, 0), "mixed_bfloat16")],
)
def test_auto_follows_the_gpus_capability(monkeypatch, capability, policy):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["gpu:0"])
    monkeypatch.setattr(
        tf.config.experimental,
        "get_device_details",
        lambda gpu: {"compute_capability": capability},
    )
    assert precision.resolve_policy("auto") == policy


def test_a_named_policy_is_taken_as_it_is():
    assert precision.resolve_policy("mixed_float16") == "mixed_float16"


def test_policy_ends_with_its_scope_even_after_an_error():
    before = keras.config.dtype_policy()
    with pytest.raises(RuntimeError, match="inside"), precision.policy_scope("mixed_bfloat16"):
        assert keras.layers.Dense(1).compute_dtype == "bfloat16"
        raise RuntimeError("inside")
    assert keras.config.dtype_policy() == before
