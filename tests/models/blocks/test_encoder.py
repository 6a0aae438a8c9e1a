import keras
import numpy as np
from scipy import special

from models.blocks import encoder

WIDTH = 6


def test_layer_norm_is_the_formula():
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, encoder.layer_norm(inputs, name="norm"))
    x_BTD = np.random.default_rng(0).normal(3.0, 2.0, (2, 4, WIDTH)).astype("float32")
    centred_BTD = x_BTD - x_BTD.mean(-1, keepdims=True)
    expected_BTD = centred_BTD / np.sqrt(x_BTD.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(model(x_BTD), expected_BTD, atol=1e-5)


def test_feed_forward_is_two_products_around_the_exact_gelu():
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, encoder.feed_forward(inputs, hidden_width=12, name="mlp"))
    x_BTD = np.random.default_rng(0).normal(size=(2, 4, WIDTH)).astype("float32")
    kernel_in, bias_in, kernel_out, bias_out = model.get_weights()
    hidden_BTF = x_BTD @ kernel_in + bias_in
    hidden_BTF *= 0.5 * (1 + special.erf(hidden_BTF / np.sqrt(2)))
    np.testing.assert_allclose(model(x_BTD), hidden_BTF @ kernel_out + bias_out, atol=1e-5)


def _layer(dropout_rate=0.0):
    inputs = keras.Input((None, WIDTH))
    is_token_BT = keras.Input((None,), dtype="bool")
    outputs = encoder.encoder_layer(
        inputs,
        is_token_BT,
        num_heads=2,
        mlp_ratio=2,
        dropout_rate=dropout_rate,
        angles_1T1H=None,
        name="layer",
    )
    return keras.Model([inputs, is_token_BT], outputs)


def test_layer_whose_last_kernels_are_zero_is_the_identity():
    model = _layer()
    for name in ("layer_attention_output", "layer_mlp_out"):
        model.get_layer(name).kernel.assign(np.zeros_like(model.get_layer(name).kernel))
    x_BTD = np.random.default_rng(0).normal(size=(2, 4, WIDTH)).astype("float32")
    np.testing.assert_array_equal(model([x_BTD, np.ones((2, 4), bool)]), x_BTD)


def test_dropout_acts_on_each_branch_in_training_alone():
    names = [layer.name for layer in _layer(dropout_rate=0.1).layers if "dropout" in layer.name]
    assert names == ["layer_attention_dropout", "layer_mlp_dropout"]
