import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import execution
from tests.components.trainer import toy


def _choose(train_step, *, memory=None, num_steps=100, **settings):
    return execution.choose(
        train_step,
        toy.rate(),
        toy.batches,
        **{"steps_per_execution": "auto", "jit_compile": "auto", **settings},
        num_steps=num_steps,
        memory=memory,
    )


def test_explicit_settings_are_taken_without_a_trial():
    train_step = toy.train_step(toy.model())
    chosen = _choose(train_step, steps_per_execution=3, jit_compile=False)
    assert chosen == execution.Execution(steps_per_execution=3, jit_compile=False)
    assert train_step.num_traces == 0


def test_small_network_gets_many_steps_per_execution():
    chosen = _choose(toy.train_step(toy.model()))
    assert chosen.steps_per_execution >= 8
    assert chosen.steps_per_execution & (chosen.steps_per_execution - 1) == 0


def test_short_run_does_not_pay_for_compiling():
    assert not _choose(toy.train_step(toy.model()), num_steps=10).jit_compile


def test_trial_leaves_no_trace_in_the_run():
    model = toy.model(dropout_rate=0.5)
    train_step = toy.train_step(model, optimizer_name="adamw", ema_momentum=0.9)
    before = [value.copy() for value in model.get_weights()]
    _choose(train_step)
    assert int(train_step.global_step) == 0
    assert int(train_step.optimizer.iterations.numpy()) == 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    for variable in train_step.optimizer.variables[2:]:
        assert not np.any(variable.numpy())


def test_choice_is_remembered_for_the_machine(tmp_path):
    memory = execution.memory_path(tmp_path, {"model": "mlp"})
    first = _choose(toy.train_step(toy.model()), memory=memory)
    assert json.loads(memory.read_text()) == first.to_dict()
    memory.write_text(json.dumps({"steps_per_execution": 5, "jit_compile": False}))
    again = toy.train_step(toy.model())
    assert _choose(again, memory=memory).steps_per_execution == 5
    assert again.num_traces == 0


def test_other_settings_are_remembered_apart(tmp_path):
    paths = {execution.memory_path(tmp_path, {"model": name}) for name in ("mlp", "cnn")}
    assert len(paths) == 2


def test_convolutions_on_a_processor_are_not_compiled_on_trial():
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("This machine has a GPU.")
    inputs = keras.Input((4, 4, 1), name="image")
    features = keras.layers.Flatten()(keras.layers.Conv2D(2, 3)(inputs))
    model = keras.Model(inputs, {"logits": keras.layers.Dense(2)(features)})
    assert not execution.may_gain_by_jit(toy.train_step(model), run_secs=1e6)
    assert execution.may_gain_by_jit(toy.train_step(toy.model()), run_secs=1e6)


def test_xla_with_several_replicas_is_refused():
    with pytest.raises(ValueError, match="jit_compile=True, num_replicas=2. Set it to false"):
        execution.check_jit(True, num_replicas=2)


@pytest.mark.parametrize("jit_compile", [False, "auto"])
def test_other_settings_suit_several_replicas(jit_compile):
    execution.check_jit(jit_compile, num_replicas=8)
