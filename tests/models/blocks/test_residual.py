import keras
import numpy as np
import pytest

from models.blocks import residual


@pytest.mark.parametrize("strides", [1, 2])
@pytest.mark.parametrize(
    ("block", "out_channels"), [(residual.basic_block, 8), (residual.bottleneck_block, 32)]
)
def test_block_shape(block, out_channels, strides):
    inputs = keras.Input((9, 9, 4))
    outputs = block(inputs, 8, strides=strides, name="block")
    size_px = -(-9 // strides)
    assert outputs.shape == (None, size_px, size_px, out_channels)


def test_identity_shortcut_has_no_weights():
    inputs = keras.Input((9, 9, 8))
    model = keras.Model(inputs, residual.basic_block(inputs, 8, strides=1, name="block"))
    assert not [weight.path for weight in model.weights if "shortcut" in weight.path]


def test_batch_norm_matches_the_formula():
    inputs = keras.Input((3, 3, 2))
    model = keras.Model(inputs, residual.batch_norm(inputs, name="norm"))
    x_BHWC = np.random.default_rng(0).normal(3.0, 2.0, (16, 3, 3, 2)).astype("float32")
    mean_C, var_C = x_BHWC.mean((0, 1, 2)), x_BHWC.var((0, 1, 2))
    expected_BHWC = (x_BHWC - mean_C) / np.sqrt(var_C + 1e-5)
    np.testing.assert_allclose(model(x_BHWC, training=True), expected_BHWC, atol=1e-4)
    np.testing.assert_allclose(model.get_layer("norm").moving_mean, 0.1 * mean_C, rtol=1e-5)
