import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import losses

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
