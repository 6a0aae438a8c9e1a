"""All diagnostics, on one small dataset."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import memory, train
from components.trainer.config import TrainingConfig
from components.trainer.diagnostics import estimate, overfit, rate_range, setup, throughput
from models.config import parse_model_config
from pipeline import recipe_files, training


@pytest.fixture(scope="module")
def request_(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("KERASLINE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    recipe = recipe_files.load("digits")
    made = training.make_request(
        recipe, strategy="one_device", directory=tmp_path_factory.mktemp("d")
    )
    patch.undo()
    return made


def _with(request, **values):
    settings = TrainingConfig.from_dict({**request.training.to_dict(), **values})
    return dataclasses.replace(request, training=settings)


def test_one_batch_of_digits_is_learned_by_heart(request_):
    result = overfit.overfit(request_)
    assert result.has_passed
    assert result.metrics["accuracy"] == 1.0
    assert "learned one batch by heart" in result.sentence()


def test_network_that_cannot_learn_is_told_what_to_look_at(request_):
    tiny = {"optimizer": {"learning_rate": 1e-9}}
    result = overfit.overfit(_with(request_, **tiny), max_steps=50)
    assert not result.has_passed
    assert result.num_steps == 50
    assert "did not learn one batch by heart in 50 steps" in result.sentence()
    assert "kerasline lr-find" in result.sentence()


def test_range_test_grows_the_rate_and_draws(request_, tmp_path):
    result = rate_range.range_test(request_, lowest=1e-5, highest=1e2, num_steps=60)
    ratios = result.rates_S[1:] / result.rates_S[:-1]
    np.testing.assert_allclose(ratios, 1e7 ** (1 / 59), rtol=1e-6)
    assert 1e-4 < result.suggestion < 1.0
    assert len(result.losses_S) == len(result.rates_S)
    rate_range.draw(result, tmp_path / "new" / "range.png")
    assert (tmp_path / "new" / "range.png").read_bytes().startswith(b"\x89PNG")


def test_suggestion_is_a_decade_below_the_lowest_loss():
    rates_S = np.geomspace(1e-6, 1.0, 601)
    losses_S = 2.0 + (np.log10(rates_S) + 2.0) ** 2
    # The smoothed minimum lags a few of the hundred steps that a decade has.
    assert rate_range.suggest(rates_S, losses_S) == pytest.approx(1e-3, rel=0.4)


def test_smoothing_has_no_bias_to_its_beginning():
    np.testing.assert_allclose(rate_range.smoothed(np.full(5, 3.0)), 3.0)


def test_empty_range_is_refused(request_):
    with pytest.raises(ValueError, match=r"0 < lowest < highest .* lowest=1.0, highest=0.1"):
        rate_range.range_test(request_, lowest=1.0, highest=0.1)


def test_estimate_counts_parameters_gradients_and_optimizer_exactly(request_):
    request = dataclasses.replace(
        request_,
        model=parse_model_config(
            {"architecture": "mlp", "hidden_units": [32], "dropout_rate": 0.0}
        ),
    )
    needed = estimate.estimate(request)
    num_parameters = 64 * 32 + 32 + 32 * 10 + 10
    assert needed.num_parameters == num_parameters
    assert (needed.parameters, needed.gradients) == (4 * num_parameters, 4 * num_parameters)
    assert needed.optimizer == 2 * 4 * num_parameters
    # The flattened input of 64 values, without which no gradient, then 32 and 10, all float32.
    assert needed.activations == request.training.global_batch_size * 4 * (64 + 32 + 10)


def test_estimate_divides_activations_and_not_weights_over_replicas(request_):
    one, four = estimate.estimate(request_), estimate.estimate(request_, num_replicas=4)
    assert four.activations * 4 == one.activations
    assert four.parameters == one.parameters


def test_levers_begin_with_the_largest_saving(request_):
    large = _with(
        request_,
        global_batch_size=1024,
        accumulation_steps=2,
        precision="float32",
        rematerialisation=True,
    )
    levers = estimate.estimate(large).levers(large.training)
    assert levers[0].startswith("`training.accumulation_steps = 4`")
    assert levers[-1].startswith('`training.optimizer.name = "sgd"`')


def test_rematerialisation_is_a_lever_with_its_saving(request_):
    model = parse_model_config({"architecture": "cnn", "stage_channels": [8, 8]})
    needed = estimate.estimate(dataclasses.replace(request_, model=model))
    saving = needed.activations - needed.rematerialised_activations
    assert saving > needed.activations / 3
    expected = (
        "`training.rematerialisation = true`: about a third more time "
        f"(about {estimate.format_bytes(saving)})"
    )
    assert expected in needed.levers(request_.training)


def test_levers_leave_out_what_the_recipe_has_already(request_):
    lean = _with(
        request_,
        precision="mixed_bfloat16",
        optimizer={"name": "sgd"},
        rematerialisation=True,
    )
    levers = estimate.estimate(lean).levers(lean.training)
    assert [lever.split()[0] for lever in levers] == ["`training.accumulation_steps"]


def test_available_memory_is_below_the_machines():
    assert 0 < estimate.available_bytes() < 2**50


def test_profile_has_positive_parts_and_a_picture(request_, tmp_path):
    measured = throughput.profile(request_)
    assert measured.forward > 0
    assert measured.rows_per_sec > 0
    assert 0 <= measured.wait_share <= 1
    throughput.draw(measured, tmp_path / "profile.png")
    assert (tmp_path / "profile.png").read_bytes().startswith(b"\x89PNG")


def test_batch_sizes_end_with_the_data(request_):
    speeds = list(throughput.batch_speeds(request_, [512, 1024, 2048, 4096]))
    assert [speed.global_batch_size for speed in speeds] == [512, 1024]
    assert speeds[0].bytes_needed < speeds[1].bytes_needed


def test_plain_training_shows_the_raw_loss(request_):
    smoothed = _with(
        request_, label_smoothing=0.1, ema_momentum=0.9, accumulation_steps=2, num_epochs=3
    )
    plain = setup.plain_training(smoothed.training, learning_rate=0.5)
    assert (plain.label_smoothing, plain.ema_momentum, plain.accumulation_steps) == (0.0, None, 1)
    assert plain.optimizer.weight_decay == 0.0
    bench = setup.make_bench(dataclasses.replace(smoothed, training=plain))
    rates = [float(bench.built.rate(step)) for step in (0, 5)]
    assert rates == [0.5, 0.5]
    assert isinstance(bench.built.step.model, keras.Model)


@pytest.mark.parametrize(
    "error",
    [tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"), MemoryError()],
)
def test_out_of_memory_lists_what_needs_how_much_and_what_saves_some(request_, monkeypatch, error):
    def exhaust(request):
        raise error

    monkeypatch.setattr(train, "train", exhaust)
    with pytest.raises(
        memory.OutOfMemoryError,
        match=r"global_batch_size=64, which needs about .* activations .*accumulation_steps = 2",
    ):
        memory.train_or_explain(request_)
