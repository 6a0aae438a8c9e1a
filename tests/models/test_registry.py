import keras
import pytest

from models import config, inputs, registry
from models.blocks import heads
from models.tabular import mlp

SPECS = {
    "image": inputs.ImageInput(height_px=16, width_px=16, channels=3),
    "text": inputs.TokensInput(vocabulary_size=20, max_tokens=6),
    "table": inputs.TableInput(
        numbers=("miles",), categories={"day": 9}, sequences={"beat": (6, 2)}
    ),
    "audio": inputs.AudioInput(num_samples=8000, sample_rate_hz=8000),
    "series": inputs.SeriesInput(history_steps=12, num_channels=2),
}
INPUT_NAMES = {
    "image": ["image"],
    "text": ["token_ids"],
    "table": ["category_ids", "is_missing", "numbers", "sequence1", "sequence1_is_missing"],
    "audio": ["samples"],
    "series": ["history"],
}
PAIRS = [(kind, name) for kind in SPECS for name in registry.architectures(kind)]
CLASSIFIERS = [pair for pair in PAIRS if pair[0] != "series"]


def _build(kind, architecture, head):
    settings = config.parse_model_config({"architecture": architecture})
    return registry.build_model(settings, inputs=SPECS[kind], head=head)


@pytest.mark.parametrize(("kind", "architecture"), CLASSIFIERS)
def test_every_classifier_maps_its_input_to_float32_logits(kind, architecture):
    model = _build(kind, architecture, heads.Classes(num_classes=5))
    assert sorted(tensor.name for tensor in model.inputs) == INPUT_NAMES[kind]
    assert {name: output.shape for name, output in model.output.items()} == {"logits": (None, 5)}
    assert model.output["logits"].dtype == "float32"


@pytest.mark.parametrize(("kind", "architecture"), PAIRS)
def test_every_architecture_maps_its_input_to_float32_predictions(kind, architecture):
    model = _build(kind, architecture, heads.Numbers(num_numbers=4))
    assert sorted(tensor.name for tensor in model.inputs) == INPUT_NAMES[kind]
    assert {name: y.shape for name, y in model.output.items()} == {"predictions": (None, 4)}
    assert model.output["predictions"].dtype == "float32"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize(("kind", "architecture"), CLASSIFIERS)
def test_logits_stay_float32_under_half_precision(kind, architecture, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = _build(kind, architecture, heads.Classes(num_classes=3))
    finally:
        keras.config.set_dtype_policy(before)
    assert model.output["logits"].dtype == "float32"
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}
    hidden = model.layers[-2].output.dtype
    assert hidden == policy.removeprefix("mixed_")


@pytest.mark.parametrize("kind", SPECS)
def test_the_config_names_the_architectures_of_each_kind(kind):
    assert tuple(sorted(config.ARCHITECTURES[kind])) == registry.architectures(kind)


@pytest.mark.parametrize(("kind", "architecture"), PAIRS)
def test_config_union_covers_the_registry(kind, architecture):
    assert config.parse_model_config({"architecture": architecture}).architecture == architecture


@pytest.mark.parametrize("kind", SPECS)
def test_an_architecture_refuses_an_input_that_it_does_not_read(kind):
    others = {name for other, name in PAIRS if name not in registry.architectures(kind)}
    for architecture in others:
        with pytest.raises(
            ValueError, match=f"reads the input '{kind}': .* architecture='{architecture}'"
        ):
            _build(kind, architecture, heads.Classes(num_classes=2))


def test_unknown_architecture_in_a_recipe_lists_the_valid_ones():
    with pytest.raises(ValueError, match="'cnn', 'resnet', 'mlp', 'bag_of_embeddings', 'tran"):
        config.parse_model_config({"architecture": "cnnn"})


def test_model_config_round_trips_through_plain_data():
    cnn = config.CnnConfig(architecture="cnn", stage_channels=(8, 16), dropout_rate=0.1)
    assert config.parse_model_config(cnn.to_dict()) == cnn


@pytest.mark.parametrize("image_shape", [(28, 28), (28, 0, 1)])
def test_image_shape_must_be_three_positive_integers(image_shape):
    settings = config.MlpConfig(architecture="mlp")
    with pytest.raises(ValueError, match="three positive integers .* Received: image_shape="):
        mlp.build(settings, image_shape=image_shape, head=heads.Classes(num_classes=10))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2; .* Received: num_classes=1"):
        heads.Classes(num_classes=1)
