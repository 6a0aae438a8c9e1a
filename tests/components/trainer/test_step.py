import time

import numpy as np
import pytest
import tensorflow as tf

from components.trainer import loss_scale
from tests.components.trainer import toy


def test_report_names_each_gradients_norm():
    model = toy.model()
    report = toy.train_step(model).run(toy.batches(), 1)
    features_BF, labels_B = next(toy.batches())
    fresh = toy.model()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels_B, fresh(features_BF)["logits"])
        )
    gradients = tape.gradient(loss, [v.value for v in fresh.trainable_variables])
    expected = {
        variable.path: float(tf.norm(gradient))
        for variable, gradient in zip(fresh.trainable_variables, gradients, strict=True)
    }
    assert report.gradient_norms == pytest.approx(expected, rel=1e-5)
    assert report.totals["loss"] == pytest.approx(8 * float(loss), rel=1e-5)


def test_units_without_gradient_are_counted():
    model = toy.model(activation="relu")
    model.get_layer("hidden").bias.assign([-100.0, 1.0, -100.0, 1.0])
    report = toy.train_step(model).run(toy.batches(), 1)
    assert report.dead_shares["hidden/kernel"] == 0.5
    assert report.dead_shares["logits/bias"] == 0.0


def test_clipping_scales_all_gradients_together():
    clipped, free = toy.model(), toy.model()
    before = [weight.copy() for weight in free.get_weights()]
    norms = toy.train_step(free, learning_rate=1.0).run(toy.batches(), 1).gradient_norms
    toy.train_step(clipped, learning_rate=1.0, global_clipnorm=0.01).run(toy.batches(), 1)
    total = np.sqrt(sum(norm**2 for norm in norms.values()))
    for start, one, other in zip(before, free.get_weights(), clipped.get_weights(), strict=True):
        np.testing.assert_allclose(
            other - start, (one - start) * 0.01 / total, rtol=1e-3, atol=1e-6
        )


def test_accumulated_micro_batches_equal_the_whole_batch():
    whole, parts = toy.model(), toy.model()
    toy.train_step(whole).run(toy.batches(), 5)
    toy.train_step(parts, accumulation_steps=4).run(toy.batches(), 5)
    for one, other in zip(whole.get_weights(), parts.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_xla_computes_the_same():
    plain, compiled = toy.model(), toy.model()
    toy.train_step(plain).run(toy.batches(), 5)
    toy.train_step(compiled, jit_compile=True).run(toy.batches(), 5)
    for one, other in zip(plain.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_overflow_skips_the_step_and_halves_the_scale():
    model = toy.model()
    before = [weight.copy() for weight in model.get_weights()]
    # float32 overflows at 3.4e38, so that this scale makes every gradient infinite.
    scale = loss_scale.DynamicLossScale(initial_scale=3e38)
    train_step = toy.train_step(model, scale=scale)
    features_BF, labels_B = next(toy.batches())
    train_step.run(iter(tf.data.Dataset.from_tensors((features_BF * 1e3, labels_B))), 1)
    assert float(scale.scale) == pytest.approx(1.5e38)
    assert int(train_step.optimizer.iterations.numpy()) == 0
    assert int(train_step.global_step) == 1
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_loss_scale_does_not_change_the_update():
    plain, scaled = toy.model(), toy.model()
    toy.train_step(plain).run(toy.batches(), 10)
    scale = loss_scale.DynamicLossScale(initial_scale=1024.0)
    toy.train_step(scaled, scale=scale).run(toy.batches(), 10)
    for one, two in zip(plain.get_weights(), scaled.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_average_follows_the_weights_by_its_formula():
    model = toy.model()
    train_step = toy.train_step(model, ema_momentum=0.5)
    expected = [weight.copy() for weight in model.get_weights()]
    for count in range(1, 4):
        train_step.run(toy.batches(), 1)
        momentum = min(0.5, (1 + count) / (10 + count))
        expected = [
            momentum * average + (1 - momentum) * weight
            for average, weight in zip(expected, model.get_weights(), strict=True)
        ]
    for average, variable in zip(expected, train_step.average.variables, strict=True):
        np.testing.assert_allclose(variable.numpy(), average, rtol=1e-5)


def test_average_is_lent_to_the_model_and_taken_back():
    model = toy.model()
    train_step = toy.train_step(model, ema_momentum=0.9)
    train_step.run(toy.batches(), 3)
    own = model.get_weights()
    with train_step.average.swapped_in(train_step.strategy):
        lent = model.get_weights()
    assert not np.array_equal(own[0], lent[0])
    np.testing.assert_array_equal(lent[0], train_step.average.variables[0].numpy())
    for one, two in zip(own, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_wait_for_a_slow_input_is_measured():
    def pause(step):
        time.sleep(0.05)
        return step

    def slowly(step, batch):
        with tf.control_dependencies([tf.numpy_function(pause, [step], tf.int64)]):
            return tf.nest.map_structure(tf.identity, batch)

    train_step = toy.train_step(toy.model())
    slow_batches = iter(toy.dataset().repeat().enumerate().map(slowly))
    train_step.run(slow_batches, 1)
    # Less than 4 times 50 ms, since the next batch may be made while a step computes.
    assert train_step.run(slow_batches, 4).wait_secs >= 0.1


def test_batches_of_one_shape_are_traced_once():
    train_step = toy.train_step(toy.model())
    train_step.run(toy.batches(), 1)
    train_step.run(toy.batches(), 3)
    assert train_step.num_traces == 1
