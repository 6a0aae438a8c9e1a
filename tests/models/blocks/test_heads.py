import keras
import numpy as np
import pytest

from models.blocks import heads


def test_numbers_are_in_the_targets_own_unit():
    x_BF = keras.Input((2,), name="x")
    head = heads.Numbers(num_numbers=1, mean=100.0, deviation=5.0)
    model = heads.finish("linear", x_BF, x_BF, head=head, dropout_rate=0.0)
    model.get_layer("standardised").set_weights([np.array([[1.0], [2.0]]), np.array([0.5])])
    # 1 * 3 + 2 * 4 + 0.5 = 11.5 deviations above the mean.
    outputs = model(np.array([[3.0, 4.0]], "float32"))
    assert float(outputs["predictions"][0, 0]) == pytest.approx(100.0 + 11.5 * 5.0)


def test_numbers_stay_float32_under_half_precision():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        x_BF = keras.Input((2,), name="x")
        head = heads.Numbers(num_numbers=3, mean=1e6)
        model = heads.finish("linear", x_BF, x_BF, head=head, dropout_rate=0.1)
    finally:
        keras.config.set_dtype_policy(before)
    predictions_BN = model(np.zeros((1, 2), "float32"))["predictions"]
    assert predictions_BN.dtype == "float32"
    assert predictions_BN.numpy().tolist() == [[1e6, 1e6, 1e6]]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"num_numbers": 0}, "at least 1. Received: num_numbers=0"),
        ({"num_numbers": 1, "deviation": 0.0}, "Received: mean=0.0, deviation=0.0"),
        ({"num_numbers": 1, "mean": float("nan")}, "Received: mean=nan, deviation=1.0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        heads.Numbers(**values)
