import functools
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import config, evaluation, loop, loss_scale, losses, optimizer, step


def _train_step(model, *, learning_rate=0.1, scale=None):
    settings = config.OptimizerConfig(name="sgd", weight_decay=0.0)
    return step.TrainStep(
        model,
        optimizer.make_optimizer(settings, learning_rate, variables=model.trainable_variables),
        losses.sparse_cross_entropy,
        strategy=tf.distribute.get_strategy(),
        global_batch_size=8,
        seed=0,
        scale=scale,
    )


def _model(*, activation=None):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((2,), name="image")
    hidden = keras.layers.Dense(4, activation=activation)(inputs)
    return keras.Model(inputs, {"logits": keras.layers.Dense(2)(hidden)})


def _dataset():
    features_BF = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
    return tf.data.Dataset.from_tensors((features_BF, (features_BF[:, 0] > 0).astype("int64")))


def _fit(train_step, evaluate, **settings):
    batches = iter(_dataset().repeat())
    return loop.fit(
        train_step,
        batches,
        evaluate,
        **{"num_epochs": 2, "steps_per_epoch": 5, "steps_per_execution": 2, **settings},
    )


def test_every_step_of_every_epoch_is_taken_once():
    train_step = _train_step(_model())
    records = _fit(train_step, lambda: {"loss": 0.5, "accuracy": 0.25})
    assert [record.global_step for record in records] == [5, 10]
    assert int(train_step.global_step) == int(train_step.optimizer.iterations.numpy()) == 10
    assert [record.val_accuracy for record in records] == [0.25, 0.25]


def test_training_learns_and_reports_the_mean_of_the_epoch():
    records = _fit(_train_step(_model()), lambda: {"loss": 0.0, "accuracy": 0.0}, num_epochs=10)
    assert records[-1].loss < records[0].loss / 3
    assert records[-1].accuracy == 1.0


def test_steps_per_execution_changes_nothing():
    finals = []
    for steps_per_execution in (1, 5):
        model = _model()
        _fit(
            _train_step(model),
            lambda: {"loss": 0.0, "accuracy": 0.0},
            steps_per_execution=steps_per_execution,
        )
        finals.append(model.get_weights())
    for one, five in zip(*finals, strict=True):
        np.testing.assert_array_equal(one, five)


def test_epochs_are_reported_while_training_runs(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setenv("KERASLINE_PROGRESS_FD", str(write_end))
    _fit(_train_step(_model()), lambda: {"loss": 0.5, "accuracy": 0.25})
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        events = [json.loads(line) for line in lines]
    assert [event["epoch"] for event in events] == [1, 2]
    assert events[0]["step"] == "trainer"
    assert events[0]["num_epochs"] == 2
    assert events[0]["metrics"]["val_accuracy"] == 0.25


def test_non_finite_loss_stops_with_the_step_and_the_cure():
    train_step = _train_step(_model(), learning_rate=1e30)
    with pytest.raises(loop.TrainingDivergedError, match=r"the loss is nan by step 2\. Lower"):
        _fit(train_step, lambda: {"loss": 0.0, "accuracy": 0.0})


def test_nan_weights_behind_a_relu_are_found_and_named():
    model = _model(activation="relu")
    kernel = model.layers[1].kernel
    kernel.assign(np.full(kernel.shape, np.nan))
    with pytest.raises(
        loop.TrainingDivergedError, match="the weight dense.*kernel holds non-finite"
    ):
        loop.check_finite_weights(model)


def test_overflow_skips_the_step_and_halves_the_scale():
    model = _model()
    before = [weight.copy() for weight in model.get_weights()]
    # float32 overflows at 3.4e38, so that this scale makes every gradient infinite.
    scale = loss_scale.DynamicLossScale(initial_scale=3e38)
    train_step = _train_step(model, scale=scale)
    images_BF, labels_B = next(iter(_dataset()))
    train_step.run(iter(tf.data.Dataset.from_tensors((images_BF * 1e3, labels_B))), 1)
    assert float(scale.scale) == pytest.approx(1.5e38)
    assert int(train_step.optimizer.iterations.numpy()) == 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_loss_scale_does_not_change_the_update():
    plain, scaled = _model(), _model()
    _fit(_train_step(plain), lambda: {"loss": 0.0, "accuracy": 0.0})
    scale = loss_scale.DynamicLossScale(initial_scale=1024.0)
    _fit(_train_step(scaled, scale=scale), lambda: {"loss": 0.0, "accuracy": 0.0})
    for one, two in zip(plain.get_weights(), scaled.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_evaluation_ignores_padding_and_weighs_examples():
    model = _model()
    loss_function = functools.partial(losses.sparse_cross_entropy, label_smoothing=0.1)
    evaluate = evaluation.make_evaluate(model, loss_function, strategy=tf.distribute.get_strategy())
    features_BF, labels_B = next(iter(_dataset()))
    weights_B = tf.constant([1.0, 2.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0])
    measured = evaluate(tf.data.Dataset.from_tensors((features_BF, labels_B, weights_B)))
    logits_BK = model.predict(features_BF.numpy(), verbose=0)["logits"]
    smooth_BK = np.eye(2)[labels_B] * 0.9 + 0.05
    losses_B = keras.losses.categorical_crossentropy(smooth_BK, logits_BK, from_logits=True)
    expected = np.average(losses_B, weights=weights_B)
    assert measured["loss"] == pytest.approx(expected, rel=1e-5)
    is_correct_B = logits_BK.argmax(-1) == labels_B.numpy()
    assert measured["accuracy"] == pytest.approx(np.average(is_correct_B, weights=weights_B))
