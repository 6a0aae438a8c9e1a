"""Training in float8, against NumPy's own rounding to the two formats.

Axes: B batch, F features, H hidden units, K classes.
"""

import json

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from components.ingest import ingest
from components.ingest.config import DataConfig
from components.trainer import batches, build, config, float8, snapshot, train
from models import inputs, registry
from models.blocks import heads
from models.config import ARCHITECTURES, FLOAT8_ARCHITECTURES, parse_model_config
from pipeline import recipe_files
from tests.components.trainer import resume_program, toy

_E4M3, _E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_INPUTS = {
    "image": inputs.ImageInput(height_px=8, width_px=8, channels=1),
    "text": inputs.TokensInput(vocabulary_size=20, max_tokens=6),
    "table": inputs.TableInput(numbers=("age",), categories={}, sequences={"visits": (8, 1)}),
    "series": inputs.SeriesInput(history_steps=30, num_channels=1),
    "audio": inputs.AudioInput(num_samples=8000, sample_rate_hz=8000),
}


def _float8_model(**options):
    model = toy.model(**options)
    assert float8.switch_on(model) == ["hidden"]
    return model


def _named(model):
    return {v.path: np.array(keras.ops.convert_to_numpy(v)) for v in model.trainable_variables}


def _rounded(values, scale, dtype):
    largest = float(ml_dtypes.finfo(dtype).max)
    scaled = np.clip(values / np.float32(scale), -largest, largest)
    return scaled.astype(dtype).astype("float32") * np.float32(scale)


def _bfloat16(values):
    return values.astype(ml_dtypes.bfloat16).astype("float32")


def _next_scaling(before, name, values, dtype):
    """Returns a tensor's next scale and its largest values so far.

    The scale follows from the largest values of the steps before; then this step's joins them.
    """
    history, scale = before[f"hidden/{name}_amax_history"], before[f"hidden/{name}_scale"]
    if history.max() > 0:
        scale = history.max() / float(ml_dtypes.finfo(dtype).max)
    return scale, sorted([*history[history > 0].tolist(), float(np.abs(values).max())])


def _step_by_hand(before, features_BF, labels_B):
    """Returns the gradients of one step, and the next scale and largest values of each tensor."""
    kernel_FH = before["hidden/kernel"]
    x_BF = _rounded(features_BF, before["hidden/inputs_scale"], _E4M3)
    w_FH = _rounded(kernel_FH, before["hidden/kernel_scale"], _E4M3)
    # Keras adds the bias as bfloat16, which also rounds its gradient.
    hidden_BH = x_BF @ w_FH + _bfloat16(before["hidden/bias"])
    logits_BK = hidden_BH @ before["logits/kernel"] + before["logits/bias"]
    shares_BK = np.exp(logits_BK) / np.exp(logits_BK).sum(axis=1, keepdims=True)
    error_BK = (shares_BK - np.eye(2)[labels_B]) / len(labels_B)
    error_BH = (error_BK @ before["logits/kernel"].T).astype("float32")
    rounded_BH = _rounded(error_BH, before["hidden/outputs_grad_scale"], _E5M2)
    gradients = {
        "hidden/kernel": x_BF.T @ rounded_BH,
        "hidden/bias": _bfloat16(error_BH.sum(axis=0)),
        "logits/kernel": hidden_BH.T @ error_BK,
        "logits/bias": error_BK.sum(axis=0),
    }
    scaling = {
        "inputs": _next_scaling(before, "inputs", features_BF, _E4M3),
        "kernel": _next_scaling(before, "kernel", kernel_FH, _E4M3),
        "outputs_grad": _next_scaling(before, "outputs_grad", error_BH, _E5M2),
    }
    return gradients, scaling


def test_steps_round_as_numpy_does_and_scale_by_the_largest_values_so_far():
    model = _float8_model()
    step = toy.train_step(model, learning_rate=0.5)
    for _ in range(4):
        before = _named(model)
        gradients, scaling = _step_by_hand(before, *map(np.array, next(toy.batches())))
        report = step.run(toy.batches(), 1)
        norms = {path: float(np.linalg.norm(value)) for path, value in gradients.items()}
        assert report.gradient_norms == pytest.approx(norms, rel=1e-5)
        after = _named(model)
        for name, (scale, largest) in scaling.items():
            history = after[f"hidden/{name}_amax_history"]
            assert float(after[f"hidden/{name}_scale"]) == pytest.approx(float(scale), rel=1e-6)
            assert sorted(history[history > 0].tolist()) == pytest.approx(largest, rel=1e-5)


def test_rounding_is_felt():
    rounded, plain = _float8_model(), toy.model()
    norms = [toy.train_step(m).run(toy.batches(), 1).gradient_norms for m in (rounded, plain)]
    assert norms[0] != pytest.approx(norms[1], rel=1e-3)


def test_clipping_decay_and_average_leave_the_scales_alone():
    # Scales and largest values follow from the data alone in the first step, and the first
    # optimizer step is the same; a clipped or decayed scale would be another.
    free, bound = _float8_model(), _float8_model()
    toy.train_step(free).run(toy.batches(), 1)
    step = toy.train_step(bound, global_clipnorm=1e-3, ema_momentum=0.5)
    step.run(toy.batches(), 1)
    assert len(step.average.variables) == len(toy.model().trainable_variables)
    names = [variable.path for variable in float8.scaling_variables(bound)]
    assert len(names) == 6
    for name in names:
        np.testing.assert_array_equal(_named(free)[name], _named(bound)[name])


def test_the_optimizer_keeps_nothing_for_scales():
    def sizes(model):
        step = toy.train_step(model, optimizer_name="adamw")
        return [variable.shape for variable in step.optimizer.variables]

    assert sizes(_float8_model()) == sizes(toy.model())


def test_micro_batches_scale_by_the_largest_value_of_the_whole_batch():
    whole, parts = _float8_model(), _float8_model()
    toy.train_step(whole).run(toy.batches(), 3)
    toy.train_step(parts, accumulation_steps=4).run(toy.batches(), 3)
    for name, value in _named(whole).items():
        # Each micro-batch's gradient of a bias is rounded to the 8 bits of bfloat16.
        np.testing.assert_allclose(_named(parts)[name], value, rtol=1e-3, atol=5e-4, err_msg=name)


def test_xla_rounds_as_the_graph_does():
    plain, compiled = _float8_model(), _float8_model()
    toy.train_step(plain).run(toy.batches(), 5)
    toy.train_step(compiled, jit_compile=True).run(toy.batches(), 5)
    for name, value in _named(plain).items():
        np.testing.assert_allclose(_named(compiled)[name], value, rtol=1e-5, atol=1e-6)


def test_snapshot_put_back_repeats_every_bit():
    model = _float8_model()
    step, rate = toy.train_step(model, optimizer_name="adamw"), toy.rate()
    step.run(toy.batches(), 3)
    taken = snapshot.take(step, rate)
    step.run(toy.batches(), 5)
    expected = snapshot.take(step, rate)
    snapshot.put_back(step, rate, taken)
    step.run(toy.batches(), 5)
    for name, value in snapshot.take(step, rate).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def _build(model, spec, **training):
    keras.utils.set_random_seed(1)
    settings = {"num_epochs": 1, "global_batch_size": 8, "precision": "float8", **training}
    return build.build(
        parse_model_config(model),
        config.TrainingConfig.from_dict(settings),
        inputs=spec,
        head=heads.Classes(num_classes=3),
        seed=0,
        steps_per_epoch=4,
        strategy=tf.distribute.get_strategy(),
    )


def test_rematerialised_blocks_round_and_scale_the_same():
    model = {"architecture": "transformer", "width": 8, "num_heads": 2}
    tokens_BT = np.random.default_rng(0).integers(0, 20, (8, 6)).astype("int32")
    batch = tf.data.Dataset.from_tensors((tokens_BT, np.arange(8) % 3)).repeat()
    states = []
    for is_on in (False, True):
        built = _build(model, _INPUTS["text"], rematerialisation=is_on)
        built.step.run(iter(batch), 3)
        states.append(_named(built.step.model))
    assert any("scale" in name and value != 1.0 for name, value in states[0].items())
    for name, value in states[0].items():
        np.testing.assert_allclose(states[1][name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def test_frozen_layers_stay_in_float32_and_something_must_be_left():
    model = {"architecture": "mlp", "hidden_units": [4, 4]}
    built = _build(model, _INPUTS["image"], frozen_layers=["hidden1"])
    rounded = {
        variable.path.split("/")[0] for variable in float8.scaling_variables(built.step.model)
    }
    assert rounded == {"hidden2"}
    with pytest.raises(ValueError, match="needs a trainable dense layer .* freeze fewer layers"):
        _build(model, _INPUTS["image"], frozen_layers=["hidden"])


def _can_use_float8(kind, name):
    model = registry.build_model(
        parse_model_config({"architecture": name}),
        inputs=_INPUTS[kind],
        head=heads.Numbers(num_numbers=4) if kind == "series" else heads.Classes(num_classes=3),
    )
    try:
        return bool(float8.switch_on(model))
    except ValueError as error:
        assert "needs a trainable dense layer" in str(error)
        return False


@pytest.mark.parametrize(
    "name", sorted({name for names in ARCHITECTURES.values() for name in names})
)
def test_recipes_may_ask_for_float8_where_every_model_of_that_name_can_use_it(name):
    kinds = [kind for kind, names in ARCHITECTURES.items() if name in names]
    can_all = all(_can_use_float8(kind, name) for kind in kinds)
    assert can_all == (name in FLOAT8_ARCHITECTURES)


def test_what_is_exported_has_no_float8_and_is_what_was_measured(tmp_path_factory):
    data = recipe_files.load("digits").to_dict()["data"]
    cache_dir = tmp_path_factory.mktemp("cache")
    dataset = ingest.ingest(DataConfig.from_dict(data), seed=7, cache_dir=cache_dir)
    request = resume_program.request(
        tmp_path_factory.mktemp("run"),
        data=data,
        dataset=str(dataset.path),
        num_epochs=2,
        early_stopping=None,
        precision="float8",
    )
    result = train.train(request)
    assert result.policy == "float8_from_float32"
    assert "float8" not in json.dumps(result.model.get_config(), default=str)
    assert not float8.scaling_variables(result.model)
    is_right, losses = [], []
    for images_BHWC, labels_B, weights_B in batches.validation_dataset(request):
        logits_BK = result.model(images_BHWC)["logits"].numpy()[weights_B == 1.0]
        labels_B = labels_B.numpy()[weights_B == 1.0]
        is_right += (logits_BK.argmax(axis=1) == labels_B).tolist()
        shares_BK = np.exp(logits_BK) / np.exp(logits_BK).sum(axis=1, keepdims=True)
        losses += (-np.log(shares_BK[np.arange(len(labels_B)), labels_B])).tolist()
    measured = result.history[-1].metrics
    assert measured["val_accuracy"] == pytest.approx(np.mean(is_right), abs=1e-6)
    assert measured["val_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
