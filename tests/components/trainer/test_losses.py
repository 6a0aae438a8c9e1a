import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import losses, metrics

_LOGITS_BK = np.random.default_rng(0).normal(size=(6, 4)).astype("float32") * 3
_LABELS_B = np.array([0, 1, 2, 3, 3, 0])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_sparse_smoothing_equals_keras_one_hot_smoothing(smoothing):
    expected_B = keras.losses.categorical_crossentropy(
        np.eye(4)[_LABELS_B], _LOGITS_BK, from_logits=True, label_smoothing=smoothing
    )
    actual_B = losses.sparse_cross_entropy(_LOGITS_BK, _LABELS_B, label_smoothing=smoothing)
    np.testing.assert_allclose(actual_B, expected_B, rtol=1e-5)


def test_half_precision_logits_give_a_float32_loss():
    loss_B = losses.sparse_cross_entropy(tf.constant(_LOGITS_BK, tf.float16), _LABELS_B)
    assert loss_B.dtype == tf.float32


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 2.5, 0.5]])
def test_loss_of_a_mixture_is_the_mixture_of_the_losses(smoothing, weights):
    loss = functools.partial(losses.cross_entropy, label_smoothing=smoothing)
    if weights is not None:
        loss = losses.with_class_weights(loss, weights)
    share_B = np.linspace(0, 1, 6, dtype="float32")
    others_B = _LABELS_B[::-1].copy()
    one_hot_BK = np.eye(4, dtype="float32")
    mixed_BK = share_B[:, None] * one_hot_BK[_LABELS_B]
    mixed_BK += (1 - share_B[:, None]) * one_hot_BK[others_B]
    expected_B = share_B * loss(_LOGITS_BK, tf.constant(_LABELS_B))
    expected_B += (1 - share_B) * loss(_LOGITS_BK, tf.constant(others_B))
    np.testing.assert_allclose(loss(_LOGITS_BK, tf.constant(mixed_BK)), expected_B, rtol=1e-5)


def test_soft_smoothing_equals_keras_smoothing():
    shares_BK = np.random.default_rng(1).dirichlet(np.ones(4), 6).astype("float32")
    expected_B = keras.losses.categorical_crossentropy(
        shares_BK, _LOGITS_BK, from_logits=True, label_smoothing=0.2
    )
    actual_B = losses.soft_cross_entropy(_LOGITS_BK, shares_BK, label_smoothing=0.2)
    np.testing.assert_allclose(actual_B, expected_B, rtol=1e-5)


def test_mixed_example_counts_as_correct_with_its_largest_class():
    shares_BK = tf.constant([[0.6, 0.4], [0.3, 0.7]])
    logits_BK = tf.constant([[0.1, 0.0], [0.1, 0.0]])
    totals = metrics.ClassMeasure().batch_totals(logits_BK, shares_BK, tf.zeros(2), tf.ones(2))
    assert float(totals["correct"]) == 1.0


_TARGETS_BN = np.random.default_rng(2).normal(50, 10, (5, 3)).astype("float32")
_PREDICTIONS_BN = np.random.default_rng(3).normal(50, 20, (5, 3)).astype("float32")


@pytest.mark.parametrize(
    ("name", "keras_loss"),
    [
        ("mse", keras.losses.mean_squared_error),
        ("mae", keras.losses.mean_absolute_error),
        ("huber", keras.losses.huber),
    ],
)
def test_losses_of_numbers_equal_keras_ones_on_standardised_targets(name, keras_loss):
    actual_B = losses.of_numbers(name, deviation=8.0)(_PREDICTIONS_BN, _TARGETS_BN)
    expected_B = keras_loss(_TARGETS_BN / 8.0, _PREDICTIONS_BN / 8.0)
    np.testing.assert_allclose(actual_B, expected_B, rtol=1e-5)


@pytest.mark.parametrize("name", ["mse", "mae", "huber"])
def test_unit_of_the_target_does_not_change_the_loss(name):
    pounds_B = losses.of_numbers(name, deviation=8.0)(_PREDICTIONS_BN, _TARGETS_BN)
    pence_B = losses.of_numbers(name, deviation=800.0)(_PREDICTIONS_BN * 100, _TARGETS_BN * 100)
    np.testing.assert_allclose(pounds_B, pence_B, rtol=1e-5)
