import math

import numpy as np
import pytest

from components.trainer import health, logs, loop, loss_scale, step
from tests.components.trainer import toy


def _run(model, *, learning_rate=0.1):
    train_step = toy.train_step(model, learning_rate=learning_rate)
    check = health.HealthCheck(train_step, last_checkpoint=" Good ones are in DIR.")
    plan = loop.LoopPlan(num_epochs=2, steps_per_epoch=4, steps_per_execution=2)
    training_loop = loop.Loop(
        train_step,
        toy.rate(),
        plan,
        evaluate=lambda: {"loss": 0.0, "accuracy": 0.0},
        hooks=[check],
    )
    return training_loop.run(toy.batches())


def test_non_finite_loss_stops_with_the_step_the_cure_and_the_checkpoint():
    with pytest.raises(
        health.TrainingDivergedError, match=r"the loss is nan by step 2\. Lower .* are in DIR\."
    ):
        _run(toy.model(), learning_rate=1e30)


def test_nan_weights_behind_a_relu_stop_the_run_and_are_named():
    model = toy.model(activation="relu")
    kernel = model.get_layer("hidden").kernel
    kernel.assign(np.full(kernel.shape, np.nan))
    # relu(nan) is 0 on this backend, which hides it from the loss.
    with pytest.raises(health.TrainingDivergedError, match=r"(hidden/kernel|the loss is nan)"):
        _run(model)
    assert health.non_finite_weight(model) == "hidden/kernel"


def test_finite_weights_have_nothing_to_name():
    assert health.non_finite_weight(toy.model()) == ""


def test_loss_scale_may_skip_a_non_finite_step():
    report = step.StepsReport(
        totals={"loss": math.inf, "correct": 0.0, "weight": 8.0},
        learning_rate=0.1,
        wait_secs=0.0,
        gradient_norms={},
        dead_shares={},
    )
    scaled = toy.train_step(toy.model(), scale=loss_scale.DynamicLossScale())
    health.HealthCheck(scaled).on_steps(report, 1, 0.1)
    with pytest.raises(health.TrainingDivergedError, match="the loss is inf by step 1"):
        health.HealthCheck(toy.train_step(toy.model())).on_steps(report, 1, 0.1)


def test_batches_of_changing_shape_are_reported_once(monkeypatch):
    said = []
    monkeypatch.setattr(logs, "message", said.append)
    train_step = toy.train_step(toy.model())
    check = health.HealthCheck(train_step)
    for num_rows in (8, 4, 2, 8):
        batches = iter(toy.dataset().map(lambda x, y, n=num_rows: (x[:n], y[:n])))
        check.on_steps(train_step.run(batches, 1), 1, 0.1)
    assert len(said) == 1
    assert "traced again" in said[0]


def test_findings_name_the_layer_and_the_cure():
    sentences = health.findings(
        {"first/kernel": 1e-12, "second/kernel": 1.0, "third/kernel": 1e5, "fourth/kernel": 0.5},
        {"fourth/kernel": 0.75},
    )
    assert [sentence.split(" has ")[0] for sentence in sentences][0].endswith("first/kernel")
    assert any("third/kernel is exploding. Lower `training" in sentence for sentence in sentences)
    assert any("75% of the units of fourth/kernel have no gradient" in s for s in sentences)
    assert not any("second/kernel" in sentence for sentence in sentences)


def test_healthy_gradients_have_no_findings():
    assert health.findings({"a": 0.1, "b": 2.0}, {"a": 0.1, "b": 0.0}) == []
