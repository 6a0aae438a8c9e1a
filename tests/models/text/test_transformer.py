import keras
import numpy as np
import pytest

from models import config
from models.blocks import heads
from models.text import transformer

SMALL = {"num_layers": 2, "width": 16, "num_heads": 2, "mlp_ratio": 2}
SIZES = {"vocabulary_size": 50, "max_tokens": 12, "head": heads.Classes(num_classes=3)}


def _build(**settings):
    keras.utils.set_random_seed(0)
    return transformer.build(
        config.TransformerConfig(architecture="transformer", **{**SMALL, **settings}), **SIZES
    )


def _token_ids():
    token_ids_BT = np.random.default_rng(0).integers(1, 50, (4, 7)).astype("int32")
    token_ids_BT[1, 3:] = 0
    return token_ids_BT


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_appended_padding_changes_nothing(positions):
    model = _build(positions=positions)
    token_ids_BT = _token_ids()
    padded_BT = np.pad(token_ids_BT, ((0, 0), (0, 5)))
    np.testing.assert_allclose(model(token_ids_BT)["logits"], model(padded_BT)["logits"], atol=1e-6)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_texts_do_not_read_each_other(positions):
    model = _build(positions=positions)
    token_ids_BT = _token_ids()
    np.testing.assert_allclose(
        model(token_ids_BT)["logits"][1:2], model(token_ids_BT[1:2])["logits"], atol=1e-6
    )


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_order_matters(positions):
    model = _build(positions=positions)
    if positions == "learned":
        embedding = model.get_layer("position_embedding").embeddings
        embedding.assign(np.random.default_rng(0).normal(size=embedding.shape))
    token_ids_BT = _token_ids()[:1]
    logits, reversed_logits = model(token_ids_BT), model(token_ids_BT[:, ::-1])
    assert np.abs(logits["logits"] - reversed_logits["logits"]).max() > 1e-5


def test_parameter_count_by_hand():
    layer = (16 * 48 + 48) + (16 * 16 + 16) + (16 * 32 + 32) + (32 * 16 + 16) + 2 * 32
    assert _build().count_params() == 50 * 16 + 2 * layer + 32 + (16 * 3 + 3)
    assert _build(positions="learned").count_params() == _build().count_params() + 12 * 16


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_saved_file_is_plain_keras(tmp_path, positions):
    model = _build(positions=positions)
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    modules = {type(layer).__module__.split(".")[0] for layer in loaded.operations}
    assert modules == {"keras"}
    np.testing.assert_array_equal(loaded(_token_ids())["logits"], model(_token_ids())["logits"])


def test_text_without_tokens_has_finite_logits():
    assert np.isfinite(_build()(np.zeros((2, 4), "int32"))["logits"]).all()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"width": 18, "num_heads": 4, "positions": "learned"}, "next valid width is 20"),
        ({"width": 20, "num_heads": 4}, "next valid width is 24"),
    ],
)
def test_width_must_divide_into_heads(settings, expected):
    with pytest.raises(ValueError, match=f"`width` must be a multiple .* {expected}"):
        config.TransformerConfig(architecture="transformer", **settings)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"vocabulary_size": 1}, "at least 2: padding and one token. Received: vocabulary_size=1"),
        ({"max_tokens": 0}, "at least 1. Received: max_tokens=0"),
    ],
)
def test_too_small_size_is_refused(sizes, expected):
    settings = config.TransformerConfig(architecture="transformer")
    with pytest.raises(ValueError, match=expected):
        transformer.build(settings, **{**SIZES, **sizes})
