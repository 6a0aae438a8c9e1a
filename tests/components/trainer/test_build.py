import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import build, config, losses, train
from models import inputs
from models.blocks import heads
from models.config import parse_model_config


def _build(model, **training):
    settings = {"num_epochs": 1, "global_batch_size": 8, **training}
    return build.build(
        parse_model_config(model),
        config.TrainingConfig.from_dict(settings),
        inputs=inputs.ImageInput(height_px=8, width_px=8, channels=1),
        head=heads.Classes(num_classes=3),
        seed=0,
        steps_per_epoch=4,
        strategy=tf.distribute.get_strategy(),
    )


def _images():
    generator = np.random.default_rng(0)
    images_BHWC = generator.integers(0, 256, (8, 8, 8, 1)).astype("float32")
    return iter(tf.data.Dataset.from_tensors((images_BHWC, np.arange(8) % 3)).repeat())


def test_frozen_layers_keep_weights_and_moving_statistics():
    built = _build({"architecture": "cnn", "stage_channels": [4]}, frozen_layers=["stem", "stage1"])
    frozen = {v.path: v.numpy().copy() for v in built.step.model.weights if "stem" in v.path}
    assert any("moving_mean" in path for path in frozen)
    head = built.step.model.get_layer("logits").kernel.numpy().copy()
    built.step.run(_images(), 3)
    for variable in built.step.model.weights:
        if variable.path in frozen:
            np.testing.assert_array_equal(variable.numpy(), frozen[variable.path])
    assert not np.array_equal(built.step.model.get_layer("logits").kernel.numpy(), head)


def test_frozen_layer_that_does_not_exist_lists_those_that_do():
    with pytest.raises(ValueError, match=r"'hiden'. The layers with weights are: hidden1, logits"):
        _build({"architecture": "mlp", "hidden_units": [4]}, frozen_layers=["hiden"])


def test_freezing_everything_is_refused():
    with pytest.raises(ValueError, match="leaves nothing to train"):
        _build({"architecture": "mlp", "hidden_units": [4]}, frozen_layers=["hidden", "logits"])


def test_class_weights_multiply_the_losses_of_their_class():
    weighted = losses.with_class_weights(losses.sparse_cross_entropy, [1.0, 0.0, 2.5])
    logits_BK = np.random.default_rng(0).normal(size=(3, 3)).astype("float32")
    labels_B = np.array([0, 1, 2])
    plain_B = keras.losses.sparse_categorical_crossentropy(labels_B, logits_BK, from_logits=True)
    expected_B = plain_B * np.array([1.0, 0.0, 2.5])
    np.testing.assert_allclose(weighted(logits_BK, labels_B), expected_B, rtol=1e-5)


def test_class_weights_double_the_training_loss_and_not_the_validation_loss():
    mlp = {"architecture": "mlp", "hidden_units": [4], "dropout_rate": 0.0}
    images_BHWC, labels_B = next(_images())
    training, validation = [], []
    for class_weights in ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]):
        keras.utils.set_random_seed(0)
        built = _build(mlp, class_weights=class_weights)
        logits_BK = built.step.model(images_BHWC)["logits"]
        validation.append(float(tf.reduce_sum(built.plain_loss(logits_BK, labels_B))))
        training.append(built.step.run(_images(), 1).totals["loss"])
    assert training[1] == pytest.approx(2 * training[0], rel=1e-5)
    assert validation[1] == pytest.approx(validation[0], rel=1e-6)


def test_wrong_number_of_class_weights_is_refused():
    training = config.TrainingConfig(num_epochs=1, global_batch_size=8, class_weights=(1.0, 2.0))
    with pytest.raises(ValueError, match="each of the 3 classes. Received: 2 weights"):
        build.check_request(training, tf.distribute.get_strategy(), num_classes=3)


def test_keras_distribution_is_refused_because_it_would_do_nothing():
    devices = keras.distribution.list_devices()
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    try:
        with pytest.raises(ValueError, match=r"has no effect on the TensorFlow backend"):
            train.check_backend()
    finally:
        keras.distribution.set_distribution(None)
    train.check_backend()


def test_plateau_settings_come_with_the_schedule_alone():
    mlp = {"architecture": "mlp", "hidden_units": [4]}
    assert _build(mlp).plateau is None
    lowered = _build(mlp, schedule={"name": "reduce_on_plateau"})
    assert lowered.plateau == config.PlateauConfig()
    assert float(lowered.rate(3)) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("model", "training", "is_warned"),
    [
        ({"architecture": "cnn"}, {"global_batch_size": 8}, True),
        ({"architecture": "cnn"}, {"global_batch_size": 64, "accumulation_steps": 8}, True),
        ({"architecture": "cnn"}, {"global_batch_size": 64}, False),
        ({"architecture": "mlp"}, {"global_batch_size": 8}, False),
    ],
)
def test_batch_normalisation_over_few_examples_is_warned_of(model, training, is_warned):
    built = _build(model, **training)
    settings = config.TrainingConfig.from_dict({"num_epochs": 1, **training})
    warning = build.small_norm_batch(built.step.model, settings)
    assert warning.startswith("Batch normalisation sees 8 examples") == is_warned
    assert bool(warning) == is_warned
