"""The written-out gradients against those that TensorFlow derives from Keras' own operations.

Axes: B batch, T tokens, N heads, H features of a head.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from components.trainer import fused_encoder
from models import config, inputs, registry
from models.blocks import heads


def _arrays(*shapes):
    generator = np.random.default_rng(0)
    return [tf.constant(generator.normal(size=shape).astype("float32")) for shape in shapes]


def _outputs_and_gradients(function, *arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        outputs = function(*arguments)
        # Uneven weights, because the gradient of an even sum over normalised features is 0.
        weights = tf.reshape(tf.sin(tf.range(tf.size(outputs), dtype="float32")), outputs.shape)
        loss = tf.reduce_sum(outputs * weights)
    return [outputs, *tape.gradient(loss, arguments)]


def _assert_equal(function, expected_function, *arguments):
    received = _outputs_and_gradients(function, *arguments)
    expected = _outputs_and_gradients(expected_function, *arguments)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


# The last text has no token at all.
MASK_B11T = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], bool)[:, None, None]


@pytest.mark.parametrize("mask_B11T", [np.ones_like(MASK_B11T), MASK_B11T])
def test_attention_and_its_gradients_are_keras_own(mask_B11T):
    def expected(query, key, value):
        return keras.ops.dot_product_attention(query, key, value, mask=mask_B11T)

    def received(query, key, value):
        return fused_encoder.attend(query, key, value, tf.constant(mask_B11T))

    _assert_equal(received, expected, *_arrays((3, 5, 2, 4), (3, 5, 2, 4), (3, 5, 2, 4)))


def test_layer_norm_and_its_gradient_are_keras_own():
    layer = keras.layers.LayerNormalization(epsilon=1e-5)
    layer.build((None, None, 6))

    def expected(x, gamma, beta):
        return layer.stateless_call([gamma, beta], [], x)[0]

    def received(x, gamma, beta):
        return fused_encoder.layer_norm(x, gamma, beta, 1e-5)

    _assert_equal(received, expected, *_arrays((3, 5, 6), (6,), (6,)))


def test_linear_and_its_gradients_are_keras_own():
    layer = keras.layers.Dense(4)
    layer.build((None, None, 6))

    def expected(x, kernel, bias):
        return layer.stateless_call([kernel, bias], [], x)[0]

    _assert_equal(fused_encoder.linear, expected, *_arrays((3, 5, 6), (6, 4), (4,)))


def test_gelu_is_the_formula_and_its_gradient_keras_own():
    (x,) = _arrays((40, 7))
    x = 3.0 * x
    _assert_equal(fused_encoder.gelu, keras.activations.gelu, x)
    expected = x * 0.5 * (1 + special.erf(x.numpy().astype("float64") / np.sqrt(2)))
    np.testing.assert_allclose(fused_encoder.gelu(x), expected, atol=1e-6)


def _transformer():
    keras.utils.set_random_seed(0)
    return registry.build_model(
        config.TransformerConfig(architecture="transformer", width=16, num_heads=2),
        inputs=inputs.TokensInput(vocabulary_size=30, max_tokens=6),
        head=heads.Classes(num_classes=2),
    )


def test_whole_transformer_has_the_same_logits_and_gradients():
    plain, fused = _transformer(), _transformer()
    # Attention, four products, GELU and two norms in each of two layers, and the last norm.
    assert fused_encoder.fuse(fused) == 17
    token_ids_BT = np.array([[5, 9, 3, 0, 0, 0], [1, 2, 3, 4, 5, 6]], "int32")
    assert fused_encoder.fuse(plain) == 17
    fused_encoder.restore(plain)
    losses, gradients = [], []
    for model in (plain, fused):
        with tf.GradientTape() as tape:
            losses.append(tf.reduce_sum(model(token_ids_BT, training=False)["logits"] ** 2))
        weights = [variable.value for variable in model.trainable_variables]
        gradients.append([tf.convert_to_tensor(g) for g in tape.gradient(losses[-1], weights)])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_half_precision_stays_keras_own():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = _transformer()
    finally:
        keras.config.set_dtype_policy(before)
    layers = [layer for layer in model.layers if "norm" in layer.name or "gelu" in layer.name]
    assert fused_encoder.fuse(model) == 0
    assert {layer.compute_dtype for layer in layers} == {"bfloat16"}


def test_restored_model_calls_kerass_own_operations():
    model = _transformer()
    fused_encoder.fuse(model)
    changed = [operation for operation in model.operations if "call" in operation.__dict__]
    fused_encoder.restore(model)
    assert len(changed) == 17
    assert not any("call" in operation.__dict__ for operation in model.operations)


def test_fused_model_saves_as_plain_keras(tmp_path):
    model = _transformer()
    fused_encoder.fuse(model)
    model.save(tmp_path / "m.keras")
    token_ids_BT = np.array([[5, 9, 3, 0, 0, 0]], "int32")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(
        loaded(token_ids_BT)["logits"], model(token_ids_BT)["logits"], atol=1e-6
    )
