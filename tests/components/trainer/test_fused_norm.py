"""The fused kernel against Keras' own batch normalisation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import fused_norm


def _model(**options) -> keras.Model:
    keras.utils.set_random_seed(3)
    inputs = keras.Input((4, 5, 3))
    return keras.Model(inputs, keras.layers.BatchNormalization(name="norm", **options)(inputs))


def _train_once(model: keras.Model, images_BHWC: np.ndarray) -> dict[str, np.ndarray]:
    x_BHWC = tf.constant(images_BHWC)
    variables = [variable.value for variable in model.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(x_BHWC)
        outputs_BHWC = model(x_BHWC, training=True)
        loss = tf.reduce_sum(tf.cast(outputs_BHWC, tf.float32) ** 3)
    gradients = tape.gradient(loss, [x_BHWC, *variables])
    norm = model.get_layer("norm")
    return {
        "outputs": outputs_BHWC.numpy(),
        "mean": norm.moving_mean.numpy(),
        "variance": norm.moving_variance.numpy(),
        **{f"gradient {index}": each.numpy() for index, each in enumerate(gradients)},
    }


def _images() -> np.ndarray:
    return np.random.default_rng(0).normal(2.0, 3.0, (6, 4, 5, 3)).astype(np.float32)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("synchronized", [False, True])
def test_fused_outputs_gradients_and_moving_averages_are_those_of_keras(policy, synchronized):
    options = {"synchronized": synchronized, "dtype": keras.DTypePolicy(policy)}
    expected = _train_once(_model(**options), _images())
    fused = _model(**options)
    assert fused_norm.fuse_batch_norms(fused) == 1
    for name, received in _train_once(fused, _images()).items():
        np.testing.assert_allclose(received, expected[name], rtol=2e-4, atol=2e-3, err_msg=name)


def test_inference_uses_the_moving_averages():
    plain, fused = _model(), _model()
    fused_norm.fuse_batch_norms(fused)
    for model in (plain, fused):
        model.get_layer("norm").moving_mean.assign([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fused(_images(), training=False), plain(_images()))


def test_frozen_layer_stays_in_inference_mode():
    model = _model()
    fused_norm.fuse_batch_norms(model)
    model.get_layer("norm").trainable = False
    model(_images(), training=True)
    np.testing.assert_array_equal(model.get_layer("norm").moving_mean, np.zeros(3))


def test_fused_model_is_saved_as_plain_keras(tmp_path):
    model = _model()
    fused_norm.fuse_batch_norms(model)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert type(loaded.get_layer("norm")) is keras.layers.BatchNormalization
    np.testing.assert_array_equal(loaded(_images()), model(_images()))


@pytest.mark.parametrize("options", [{"axis": 1}, {"scale": False}, {"epsilon": 1e-6}])
def test_layers_that_the_kernel_cannot_compute_are_left_alone(options):
    assert fused_norm.fuse_batch_norms(_model(**options)) == 0
