import keras
import numpy as np
import tensorflow as tf

from components.trainer import seeds


def _dropout_model():
    inputs = keras.Input((64,))
    return keras.Model(inputs, keras.layers.Dropout(0.5)(keras.layers.Dropout(0.5)(inputs)))


def _mask(model, layer_seeds, *, step, replica=0):
    layer_seeds.set(step=tf.constant(step, tf.int64), replica=replica)
    return model(np.ones((1, 64), "float32"), training=True).numpy()


def test_mask_is_a_function_of_seed_step_and_replica():
    first, second = _dropout_model(), _dropout_model()
    first_seeds, second_seeds = seeds.LayerSeeds(first, seed=3), seeds.LayerSeeds(second, seed=3)
    _mask(second, second_seeds, step=7)
    np.testing.assert_array_equal(
        _mask(first, first_seeds, step=5, replica=1), _mask(second, second_seeds, step=5, replica=1)
    )


def test_masks_differ_between_steps_replicas_and_seeds():
    model = _dropout_model()
    layer_seeds = seeds.LayerSeeds(model, seed=3)
    masks = [
        _mask(model, layer_seeds, step=0),
        _mask(model, layer_seeds, step=1),
        _mask(model, layer_seeds, step=0, replica=1),
        _mask(model, seeds.LayerSeeds(model, seed=4), step=0),
    ]
    assert len({mask.tobytes() for mask in masks}) == len(masks)


def test_two_layers_of_a_model_draw_differently():
    model = _dropout_model()
    seeds.LayerSeeds(model, seed=3).set(step=tf.constant(0, tf.int64), replica=0)
    first, second = (v.numpy() for v in model.variables if "seed_generator" in v.path)
    assert first[0] != second[0]


def test_model_without_random_layers_is_fine():
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    seeds.LayerSeeds(model, seed=0).set(step=tf.constant(1, tf.int64), replica=0)
