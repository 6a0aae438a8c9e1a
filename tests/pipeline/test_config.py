"""Checks that configs survive being written and read, and that contradictions are refused."""

import hypothesis
import pydantic
import pytest
from hypothesis import strategies as st

from models.config import CnnConfig, MlpConfig, ResNetConfig
from pipeline import config_errors, recipe_files
from pipeline.config import Recipe, RunConfig, check_run

_POSITIVE = st.integers(1, 10_000)
_MODELS = st.one_of(
    st.builds(
        CnnConfig,
        architecture=st.just("cnn"),
        stage_channels=st.lists(_POSITIVE, min_size=1, max_size=3).map(tuple),
        dropout_rate=st.floats(0.0, 0.99),
    ),
    st.builds(
        ResNetConfig, architecture=st.just("resnet"), depth=st.sampled_from([18, 34, 50, 101, 152])
    ),
    st.builds(
        MlpConfig,
        architecture=st.just("mlp"),
        hidden_units=st.lists(_POSITIVE, min_size=1, max_size=4).map(tuple),
    ),
)


@st.composite
def _recipes(draw):
    base = recipe_files.load("digits")
    names = draw(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
    training = base.training.model_copy(
        update={
            "num_epochs": draw(_POSITIVE),
            "label_smoothing": draw(st.floats(0.0, 0.99)),
            "optimizer": base.training.optimizer.model_copy(
                update={"global_clipnorm": draw(st.sampled_from([0.0, 0.5]))}
            ),
            "precision": draw(st.sampled_from(["auto", "float32", "mixed_float16"])),
        }
    )
    data = base.data.model_copy(
        update={"label": base.data.label.model_copy(update={"class_names": tuple(names)})}
    )
    return base.model_copy(
        update={
            "seed": draw(st.integers(0, 2**32 - 1)),
            "description": draw(st.text()),
            "data": data,
            "model": draw(_MODELS),
            "training": training,
        }
    )


@hypothesis.given(_recipes())
def test_a_recipe_survives_being_plain_data(recipe):
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@hypothesis.given(
    st.builds(RunConfig, root=st.text(), strategy=st.sampled_from(["auto", "one_device", "tpu"]))
)
def test_a_run_config_survives_being_plain_data(run_config):
    assert RunConfig.from_dict(run_config.to_dict()) == run_config


@pytest.mark.parametrize(
    ("set_value", "sentence"),
    [
        ("name=Digits", "name must be 1 to 50 lower-case letters"),
        ("data.splits.test_share=0.9", r"\[data.splits\] validation_share and test_share must sum"),
        (
            "input.augment.max_translation_px=8",
            "max_translation_px must be less than the image's shorter side",
        ),
        ("evaluation.min_class_accuracy=0.95", "min_class_accuracy must not exceed min_accuracy"),
        (
            "training.optimizer.momentum=0.5",
            "`momentum` has an effect with the optimizer sgd alone",
        ),
        ("training.early_stopping={ patience_epochs = 20 }", "it can never stop"),
        ("training.schedule.plateau={}", "it needs name='reduce_on_plateau'"),
        (
            'model={architecture = "cnn", stage_channels = [8, 8, 8, 8]}',
            "model.stage_channels has 4 stages, .* at least 16 px. Received: data.image = 8 x 8 px",
        ),
        ("data.label.class_names=['a', 'a']", "Received twice or more: a"),
    ],
)
def test_contradictory_settings_are_refused(set_value, sentence):
    with pytest.raises(ValueError, match=sentence):
        recipe_files.load("digits", [set_value])


def test_a_recipe_cannot_be_changed():
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        recipe_files.load("digits").seed = 3


def _digits(**changes):
    return recipe_files.load("digits").to_dict() | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"text": {"max_tokens": 9}},
            "one of the tables image, text, audio, table, series.*image, text",
        ),
        ({"image": None}, "Received: none of them"),
        ({"label": None}, "either a table label or a table target.*Received: neither"),
        ({"target": {"source_name": "fare"}}, "Received: label, target"),
        ({"splits": {"by": "group"}}, "Set data.splits.key"),
    ],
)
def test_data_needs_one_input_and_one_answer(changes, sentence):
    data = _digits()["data"] | changes
    with pytest.raises(pydantic.ValidationError, match=sentence):
        Recipe.from_dict(_digits(data={key: value for key, value in data.items() if value}))


@pytest.mark.parametrize("architecture", ["cnn", "transformer", "dlinear"])
def test_model_must_read_the_input(architecture):
    message = f"reads data.table: mlp, tcn. Received: .*'{architecture}'"
    with pytest.raises(ValueError, match=message):
        recipe_files.load("taxi", [f'model={{architecture = "{architecture}"}}'])


def test_convolutions_over_a_table_need_a_column_of_lists():
    with pytest.raises(ValueError, match=r"convolves over lists.*Received: the columns trip_miles"):
        recipe_files.load("taxi", ['model={architecture = "tcn"}'])


def test_task_must_fit_the_data():
    with pytest.raises(pydantic.ValidationError, match="needs the tables data.series. Received"):
        Recipe.from_dict(_digits(task="forecasting"))


@pytest.mark.parametrize("strategy", ["mirrored", "multi_worker_mirrored", "tpu"])
def test_xla_with_a_strategy_of_several_replicas_is_refused(strategy):
    recipe = recipe_files.load("digits", ("training.jit_compile=true",))
    with pytest.raises(ValueError, match=f"jit_compile = true, strategy = '{strategy}'. Set "):
        check_run(recipe, RunConfig(strategy=strategy))


@pytest.mark.parametrize("strategy", ["auto", "one_device"])
def test_xla_on_one_device_is_allowed(strategy):
    recipe = recipe_files.load("digits", ("training.jit_compile=true",))
    check_run(recipe, RunConfig(strategy=strategy))


def test_data_service_on_several_machines_is_refused():
    run = RunConfig(strategy="multi_worker_mirrored", data_service="host:5050")
    with pytest.raises(ValueError, match="data_service = 'host:5050', strategy = 'multi_worker"):
        check_run(recipe_files.load("digits"), run)


@pytest.mark.parametrize("address", ["host", "local:0", ":80"])
def test_data_service_without_host_and_port_is_refused(address):
    with pytest.raises(pydantic.ValidationError, match="data_service"):
        RunConfig(data_service=address)


def test_a_reference_where_there_is_no_simple_learner_is_refused():
    with pytest.raises(config_errors.ConfigError, match="about the simple learner beside a text"):
        recipe_files.load("digits", ["evaluation.reference=beat"])
    assert recipe_files.load("taxi", ["evaluation.reference=beat"]).evaluation.reference == "beat"
