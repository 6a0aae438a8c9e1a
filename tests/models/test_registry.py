import keras
import pytest

from models import config, registry

TEXT = ("bag_of_embeddings", "transformer")
SERIES = ("dlinear", "tcn")
IMAGE = tuple(sorted(set(registry.architectures()) - set(TEXT) - set(SERIES)))
CLASSIFIERS = TEXT + IMAGE


def _build(architecture, *, num_classes):
    settings = config.parse_model_config({"architecture": architecture})
    if architecture in TEXT:
        return registry.build_text_model(
            settings, vocabulary_size=20, max_tokens=6, num_classes=num_classes
        )
    return registry.build_model(settings, image_shape=(16, 16, 3), num_classes=num_classes)


@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_every_architecture_maps_its_input_to_float32_logits(architecture):
    model = _build(architecture, num_classes=5)
    expected = "token_ids" if architecture in TEXT else "image"
    assert [tensor.name for tensor in model.inputs] == [expected]
    assert {name: output.shape for name, output in model.output.items()} == {"logits": (None, 5)}
    assert model.output["logits"].dtype == "float32"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_logits_stay_float32_under_half_precision(architecture, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = _build(architecture, num_classes=3)
    finally:
        keras.config.set_dtype_policy(before)
    assert model.output["logits"].dtype == "float32"
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}
    hidden = model.layers[-2].output.dtype
    assert hidden == policy.removeprefix("mixed_")


def test_config_union_covers_the_registry():
    for architecture in registry.architectures():
        assert (
            config.parse_model_config({"architecture": architecture}).architecture == architecture
        )


def test_unknown_architecture_lists_the_valid_ones():
    with pytest.raises(
        ValueError, match="must be one of .*, cnn, .*, mlp, .* Received: architecture='cnnn'"
    ):
        registry.builder("cnnn")


def test_unknown_architecture_in_a_recipe_lists_the_valid_ones():
    with pytest.raises(ValueError, match="'cnn', 'resnet', 'mlp', 'bag_of_embeddings', 'tran"):
        config.parse_model_config({"architecture": "cnnn"})


def test_model_config_round_trips_through_plain_data():
    cnn = config.CnnConfig(architecture="cnn", stage_channels=(8, 16), dropout_rate=0.1)
    assert config.parse_model_config(cnn.to_dict()) == cnn


@pytest.mark.parametrize("image_shape", [(28, 28), (28, 0, 1)])
def test_image_shape_must_be_three_positive_integers(image_shape):
    mlp = config.MlpConfig(architecture="mlp")
    with pytest.raises(ValueError, match="three positive integers .* Received: image_shape="):
        registry.build_model(mlp, image_shape=image_shape, num_classes=10)


def test_one_class_is_refused():
    mlp = config.MlpConfig(architecture="mlp")
    with pytest.raises(ValueError, match="at least 2; .* Received: num_classes=1"):
        registry.build_model(mlp, image_shape=(8, 8, 1), num_classes=1)


@pytest.mark.parametrize("architecture", TEXT)
def test_text_architecture_refuses_images(architecture):
    settings = config.parse_model_config({"architecture": architecture})
    with pytest.raises(ValueError, match=f"reads images: cnn, .* Received: .*'{architecture}'"):
        registry.build_model(settings, image_shape=(8, 8, 1), num_classes=2)


@pytest.mark.parametrize("architecture", IMAGE)
def test_image_architecture_refuses_texts(architecture):
    settings = config.parse_model_config({"architecture": architecture})
    with pytest.raises(ValueError, match=f"reads texts: bag_of.* Received: .*'{architecture}'"):
        registry.build_text_model(settings, vocabulary_size=9, max_tokens=4, num_classes=2)
