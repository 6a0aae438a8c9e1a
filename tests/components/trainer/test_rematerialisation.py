"""Rematerialisation changes memory and time, and not one number."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import build, config, memory_trial, model_blocks, rematerialisation
from models import inputs
from models.blocks import heads
from models.config import parse_model_config

_IMAGES = inputs.ImageInput(height_px=8, width_px=8, channels=1)
_TOKENS = inputs.TokensInput(vocabulary_size=20, max_tokens=6)
_CNN = {"architecture": "cnn", "stage_channels": [4, 4], "dropout_rate": 0.3}
_TRANSFORMER = {"architecture": "transformer", "width": 8, "num_heads": 2, "dropout_rate": 0.3}


def _batch(spec):
    generator = np.random.default_rng(0)
    labels_B = np.arange(8) % 3
    if spec is _IMAGES:
        return generator.integers(0, 256, (8, 8, 8, 1)).astype("float32"), labels_B
    return generator.integers(0, 20, (8, 6)).astype("int32"), labels_B


def _batches(spec):
    return iter(tf.data.Dataset.from_tensors(_batch(spec)).repeat())


def _build(model, spec, **training):
    keras.utils.set_random_seed(1)
    settings = {"num_epochs": 1, "global_batch_size": 8, **training}
    return build.build(
        parse_model_config(model),
        config.TrainingConfig.from_dict(settings),
        inputs=spec,
        head=heads.Classes(num_classes=3),
        seed=0,
        steps_per_epoch=4,
        strategy=tf.distribute.get_strategy(),
    )


@pytest.mark.parametrize(("model", "spec"), [(_CNN, _IMAGES), (_TRANSFORMER, _TOKENS)])
@pytest.mark.parametrize("accumulation_steps", [1, 2])
def test_weights_averages_and_dropout_are_those_of_the_plain_model(model, spec, accumulation_steps):
    # RematScope fails inside a graph; tf.recompute_grad alone moves the averages of a batch
    # normalisation twice and draws another dropout mask the second time.
    states = []
    for is_on in (False, True):
        built = _build(model, spec, rematerialisation=is_on, accumulation_steps=accumulation_steps)
        built.step.run(_batches(spec), 3)
        states.append([variable.numpy() for variable in built.step.model.variables])
    for plain, recomputed in zip(*states, strict=True):
        np.testing.assert_allclose(recomputed, plain, rtol=1e-5, atol=1e-6)


def test_convolutions_of_all_blocks_but_the_last_are_computed_twice():
    built = _build({**_CNN, "stage_channels": [4, 4, 4]}, _IMAGES, rematerialisation=True)
    images_BHWC, _ = _batch(_IMAGES)

    def num_convolutions(network):
        @tf.function
        def gradients():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(network(images_BHWC, training=True)["logits"] ** 2)
            return tape.gradient(loss, [v.value for v in built.step.model.trainable_variables])

        graph = gradients.get_concrete_function().graph
        return sum(operation.type == "Conv2D" for operation in graph.get_operations())

    plain = num_convolutions(built.step.model)
    assert plain < num_convolutions(built.network) < 2 * plain


def test_xla_computes_the_same_with_rematerialisation():
    states = []
    for is_on in (False, True):
        built = _build(_CNN, _IMAGES, rematerialisation=is_on, optimizer={"name": "sgd"})
        built.step.set_jit(True)
        built.step.run(_batches(_IMAGES), 2)
        states.append(built.step.model.get_weights())
    for plain, recomputed in zip(*states, strict=True):
        np.testing.assert_allclose(recomputed, plain, rtol=1e-4, atol=1e-5)


def test_residual_network_is_cut_where_one_activation_is_alive():
    model = _build(_CNN, _IMAGES).step.model
    _, blocks = model_blocks.cut(model)
    assert [len(block.entry) for block in blocks] == [0] + [1] * (len(blocks) - 1)
    assert [block.is_last for block in blocks] == [False] * (len(blocks) - 1) + [True]


def test_model_without_a_place_to_cut_is_refused():
    features = keras.Input((4,))
    model = keras.Model(features, {"logits": keras.layers.Dense(3)(features)}, name="flat")
    with pytest.raises(ValueError, match="several blocks.*Received: model='flat'"):
        rematerialisation.Rematerialised(model)


def test_memory_is_what_passes_between_blocks_and_the_largest_inside():
    x = features = keras.Input((4,))
    for _ in range(4):
        y = keras.layers.Dense(100)(x)
        x = keras.layers.Add()([x, keras.layers.Dense(4)(y)])
    model = keras.Model(features, keras.layers.Dense(2)(x))
    memory = model_blocks.memory(model)
    # Each block has 100 + 4 + 4 values of 4 bytes, the last one 2; the input is always kept.
    assert memory.kept == 4 * (4 + 4 * 108 + 2)
    # Cut after every block but the last, which stays with the end of the model.
    assert memory.rematerialised == 4 * (4 + 3 * 4 + 108 + 2)


def test_trial_leaves_the_run_as_it_was_and_says_what_it_measured():
    built = _build(_CNN, _IMAGES, rematerialisation=True)
    before = [weight.copy() for weight in built.step.model.get_weights()]
    cost = memory_trial.measure(
        built.step, built.rate, _batches(_IMAGES), network=built.network, try_without=True
    )
    for old, new in zip(before, built.step.model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert int(built.step.global_step.numpy()) == 0
    assert cost.with_it.seconds > 0
    assert cost.without_it is not None
    assert cost.without_it.peak_bytes >= cost.with_it.peak_bytes


def test_trial_that_might_not_fit_is_not_made():
    built = _build(_CNN, _IMAGES, rematerialisation=True)
    cost = memory_trial.measure(
        built.step, built.rate, _batches(_IMAGES), network=built.network, try_without=False
    )
    assert cost.sentence().endswith("without it might not fit, and was not tried.")
