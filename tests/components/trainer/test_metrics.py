import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import metrics


def test_errors_of_numbers_are_weighted_means_over_examples():
    targets_BN = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], "float32")
    predictions_BN = np.array([[2.0, 2.0], [3.0, 0.0], [9.0, 9.0]], "float32")
    # Mean errors 0.5, 2 and 9; mean squares 0.5, 8 and 81. The last example is padding.
    weights_B = np.array([1.0, 3.0, 0.0], "float32")
    totals = metrics.NumberMeasure().batch_totals(
        tf.constant(predictions_BN), tf.constant(targets_BN), tf.zeros(3), tf.constant(weights_B)
    )
    means = metrics.means({name: float(total) for name, total in totals.items()})
    assert means == pytest.approx(
        {"loss": 0.0, "mae": (0.5 + 3 * 2.0) / 4, "rmse": ((0.5 + 3 * 8.0) / 4) ** 0.5}
    )


def test_measure_follows_the_models_output():
    inputs = keras.Input((2,))
    kinds = {
        name: metrics.measure_of(keras.Model(inputs, {name: inputs})).output_name
        for name in ("logits", "predictions")
    }
    assert kinds == {"logits": "logits", "predictions": "predictions"}


def test_output_of_another_name_is_refused():
    inputs = keras.Input((2,))
    with pytest.raises(ValueError, match=r"must return \{'logits'.*Received: output=\{'scores'"):
        metrics.measure_of(keras.Model(inputs, {"scores": inputs}))
