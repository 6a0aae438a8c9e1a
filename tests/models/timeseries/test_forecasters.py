"""What every forecaster promises, and what sets each apart."""

import keras
import numpy as np
import pytest

from models import config, inputs, registry
from models.blocks import heads

ARCHITECTURES = ("dlinear", "tcn")


def _build(architecture, *, history_steps=30, num_channels=1, num_numbers=4, **settings):
    keras.utils.set_random_seed(0)
    return registry.build_model(
        config.parse_model_config({"architecture": architecture, **settings}),
        inputs=inputs.SeriesInput(history_steps=history_steps, num_channels=num_channels),
        head=heads.Numbers(num_numbers=num_numbers),
    )


def _randomised(model):
    """Gives every weight, those that begin at zero too, a random value."""
    generator = np.random.default_rng(0)
    model.set_weights([generator.normal(0, 0.2, w.shape) for w in model.get_weights()])
    return model


def _history(*, history_steps=30, num_channels=1):
    shape = (3, history_steps, num_channels)
    return np.random.default_rng(1).normal(size=shape).astype("float32")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("num_channels", [1, 3])
def test_every_forecaster_maps_a_history_to_float32_numbers(architecture, num_channels):
    model = _build(architecture, num_channels=num_channels)
    assert [(t.name, t.shape) for t in model.inputs] == [("history", (None, 30, num_channels))]
    assert {name: t.shape for name, t in model.output.items()} == {"predictions": (None, 4)}
    assert model.output["predictions"].dtype == "float32"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_forecasts_move_and_stretch_with_the_series(architecture):
    model = _randomised(_build(architecture))
    history_BTC = _history()
    plain_BH = model(history_BTC, training=False)["predictions"].numpy()
    moved_BH = model(history_BTC * 50 + 3000, training=False)["predictions"].numpy()
    np.testing.assert_allclose(moved_BH, plain_BH * 50 + 3000, rtol=1e-4)
    assert np.abs(plain_BH).max() > 0.1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_constant_series_goes_on_as_a_finite_number(architecture):
    model = _randomised(_build(architecture))
    predictions_BH = model(np.full((1, 30, 1), 7.0, "float32"), training=False)["predictions"]
    np.testing.assert_allclose(predictions_BH, 7.0, atol=0.05)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_covariates_change_the_forecast_whatever_their_unit(architecture):
    model = _randomised(_build(architecture, num_channels=2))
    history_BTC = _history(num_channels=2)
    other_BTC = history_BTC.copy()
    other_BTC[:, :, 1] = history_BTC[:, ::-1, 1]
    scaled_BTC = history_BTC * np.array([1.0, 1e4], "float32")
    plain_BH, reversed_BH, scaled_BH = (
        model(batch_BTC, training=False)["predictions"].numpy()
        for batch_BTC in (history_BTC, other_BTC, scaled_BTC)
    )
    assert np.abs(plain_BH - reversed_BH).max() > 1e-2
    np.testing.assert_allclose(scaled_BH, plain_BH, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_half_precision_keeps_a_series_of_large_numbers(architecture):
    history_BTC = _history() + 1e6
    exact_BH = _randomised(_build(architecture))(history_BTC, training=False)["predictions"]
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = _randomised(_build(architecture))
        half_BH = model(history_BTC, training=False)["predictions"]
    finally:
        keras.config.set_dtype_policy(before)
    assert half_BH.dtype == "float32"
    np.testing.assert_allclose(half_BH, exact_BH, atol=0.2, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_forecaster_answers_the_same(architecture, tmp_path):
    model = _randomised(_build(architecture))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    history_BTC = _history()
    np.testing.assert_array_equal(
        loaded(history_BTC)["predictions"], model(history_BTC)["predictions"]
    )


def test_untrained_dlinear_forecasts_the_windows_mean():
    history_BTC = _history()
    predictions_BH = _build("dlinear")(history_BTC)["predictions"]
    np.testing.assert_allclose(
        predictions_BH, np.repeat(history_BTC.mean(axis=1), 4, axis=1), atol=1e-6
    )


@pytest.mark.parametrize("trend_steps", [1, 4, 5, 99])
def test_dlinear_is_a_linear_map_of_trend_and_remainder(trend_steps):
    model = _randomised(_build("dlinear", history_steps=12, trend_steps=trend_steps))
    history_BTC = _history(history_steps=12)
    x_BT = history_BTC[:, :, 0]
    x_BT = (x_BT - x_BT.mean(1, keepdims=True)) / x_BT.std(1, keepdims=True)
    width = min(trend_steps, 12)
    padded_BT = np.pad(x_BT, ((0, 0), ((width - 1) // 2, width // 2)), mode="edge")
    trend_BT = np.lib.stride_tricks.sliding_window_view(padded_BT, width, axis=1).mean(-1)
    parts = {"trend": trend_BT, "seasonal": x_BT - trend_BT}
    standardised_BH = sum(
        part_BT @ model.get_layer(name).kernel.numpy() + model.get_layer(name).bias.numpy()
        for name, part_BT in parts.items()
    )
    mean_B1 = history_BTC[:, :, 0].mean(1, keepdims=True)
    deviation_B1 = history_BTC[:, :, 0].std(1, keepdims=True)
    np.testing.assert_allclose(
        model(history_BTC)["predictions"], standardised_BH * deviation_B1 + mean_B1, atol=1e-4
    )


def test_tcn_sees_the_first_step_of_the_window():
    # A covariate, since a change of the value would show in the window's mean too.
    model = _randomised(_build("tcn", history_steps=100, num_filters=4, num_channels=2))
    history_BTC = _history(history_steps=100, num_channels=2)
    swapped_BTC = history_BTC.copy()
    # The same mean and deviation, in another order.
    swapped_BTC[:, [0, 1], 1] = history_BTC[:, [1, 0], 1]
    difference_BH = (
        model(history_BTC, training=False)["predictions"]
        - model(swapped_BTC, training=False)["predictions"]
    )
    assert np.abs(difference_BH).max() > 0


def test_an_architecture_of_images_does_not_forecast():
    with pytest.raises(ValueError, match="'series': dlinear, tcn. Received: architecture='cnn"):
        _build("cnn")


def test_an_empty_window_is_refused():
    with pytest.raises(ValueError, match="at least 1. Received: history_steps=0, num_channels=1"):
        _build("dlinear", history_steps=0)
