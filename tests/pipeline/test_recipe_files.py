"""Checks that a recipe loads, and that each fault in one is named with its cure."""

import re

import pytest

from pipeline import config_errors, recipe_files, toml_text


@pytest.mark.parametrize("name", recipe_files.shipped_names())
def test_every_shipped_recipe_loads_under_its_own_name(name):
    assert recipe_files.load(name).name == name


def test_the_default_recipe_is_shipped():
    assert recipe_files.DEFAULT_RECIPE in recipe_files.shipped_names()


def test_a_written_recipe_loads_as_the_same_recipe(tmp_path):
    recipe = recipe_files.load("fashion_mnist", ["training.num_epochs=3"])
    path = tmp_path / "mine.toml"
    path.write_text(toml_text.dumps(recipe.to_dict()), encoding="utf-8")
    assert recipe_files.load(str(path)) == recipe


def _fault(name, *set_values):
    with pytest.raises(config_errors.ConfigError) as caught:
        recipe_files.load(name, set_values)
    return str(caught.value)


@pytest.mark.parametrize(
    ("set_value", "sentence"),
    [
        (
            "training.lerning_rate=0.1",
            "Unknown key training.lerning_rate. Received: training.lerning_rate = 0.1. "
            "Did you mean training.optimizer.learning_rate? Valid keys of [training]: num_epochs, ",
        ),
        (
            "trianing.num_epochs=1",
            "Unknown key trianing. Received: trianing = { num_epochs = 1 }. Did you mean training?",
        ),
        (
            "model.stage_channels=[8]",
            "Unknown key model.stage_channels. Received: model.stage_channels = [8]. "
            'It belongs to model.architecture = "cnn" or "spectrogram_cnn" only. '
            "Remove it, or choose that.",
        ),
        (
            "model.architecture=resent",
            'Received: model.architecture = "resent". Did you mean "resnet"?',
        ),
        (
            "model={}",
            'Missing key model.architecture. Give it one of "cnn", "resnet", "mlp", ',
        ),
        (
            "data.source.name=digitz",
            'data.source.name must be "digits". Received: data.source.name = "digitz". '
            'Did you mean "digits"?',
        ),
        ("data.source.kind=tfd", 'Received: data.source.kind = "tfd". Did you mean "tfds"?'),
        (
            "data.splits.tset_share=0.1",
            "Received: data.splits.tset_share = 0.1. Did you mean data.splits.test_share?",
        ),
        (
            "training.num_epochs=ten",
            "training.num_epochs must be a whole number greater than 0. "
            'Received: training.num_epochs = "ten". Write the value without quotes.',
        ),
        ("training.num_epochs=2.5", "Received: training.num_epochs = 2.5. Choose such a value."),
        ("training.num_epochs=true", "Received: training.num_epochs = true."),
        ("training.global_batch_size=-8", "Received: training.global_batch_size = -8."),
        (
            "data.image.height_px=0",
            "data.image.height_px must be a whole number greater than 0. "
            "Received: data.image.height_px = 0.",
        ),
        (
            "model.hidden_units=[64, -2]",
            "model.hidden_units[1] must be a whole number greater than 0. "
            "Received: model.hidden_units[1] = -2.",
        ),
        (
            "model.hidden_units=64",
            "model.hidden_units must be a list of whole numbers, each greater than 0, at least 1 "
            "of them. Received: model.hidden_units = 64. "
            "Put it in brackets: model.hidden_units = [64].",
        ),
        ("model.hidden_units=[]", "Received: model.hidden_units = []. Add more of them."),
        (
            "training.steps_per_execution=auot",
            'training.steps_per_execution must be a whole number greater than 0 or "auto". '
            'Received: training.steps_per_execution = "auot". Did you mean "auto"?',
        ),
        ("training.jit_compile=3", 'training.jit_compile must be true or false or "auto".'),
        (
            "data_guard.accept.shortcuts='it is known'",
            "Unknown key data_guard.accept.shortcuts. Did you mean shortcut? Valid keys of "
            "[data_guard.accept]: exact_duplicates,",
        ),
        (
            "data_guard.accept.shortcut=known",
            "data_guard.accept.shortcut must be a text in quotes of at least 10 characters. "
            'Received: data_guard.accept.shortcut = "known". Write more.',
        ),
        (
            "input.augment.horizontal_flip=yes",
            "input.augment.horizontal_flip must be true or false. "
            'Received: input.augment.horizontal_flip = "yes". Write the value without quotes.',
        ),
        ("description=3", "description must be a text in quotes. Received: description = 3."),
        (
            "training=3",
            "training must be a table of keys. Received: training = 3. "
            "Write it as a table, under the heading [training].",
        ),
        (
            "training.optimizer.learning_rate=inf",
            "training.optimizer.learning_rate must be a number greater than 0. Received: "
            "training.optimizer.learning_rate = inf.",
        ),
        (
            "seed=2026-11-30",
            "No key accepts a date or time. Received: seed = 2026-11-30. Put it in quotes.",
        ),
    ],
)
def test_a_fault_names_key_value_and_cure(set_value, sentence):
    assert sentence in _fault("digits", set_value)


def test_an_invalid_list_item_is_one_fault():
    fault = _fault("digits", "data.label.class_names=['a', 3]")
    assert fault.count("Received") == 1


def test_a_value_that_fits_no_alternative_is_one_fault():
    assert _fault("digits", "training.steps_per_execution=-1").count("Received") == 1


def test_every_fault_is_listed_at_once():
    fault = _fault("digits", "training.num_epochs=-1", "nmae=x", "seed=1.5")
    assert "recipe digits: 3 faults." in fault


def test_a_missing_key_says_what_to_give_it(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("", encoding="utf-8")
    assert "Missing key data. Give it a table of keys." in _fault(str(path))


def test_an_unknown_recipe_lists_the_recipes_and_the_nearest():
    assert _fault("fashion_mnits") == (
        "recipe fashion_mnits: There is no recipe of this name. Did you mean fashion_mnist? "
        f"Recipes: {', '.join(recipe_files.shipped_names())}."
    )


def test_a_name_with_a_file_beside_it_points_to_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    assert "Did you mean the file mine.toml?" in _fault("mine")


def test_a_missing_file_is_named():
    assert "recipe ./nowhere.toml: There is no such file." in _fault("./nowhere.toml")


def test_a_folder_is_not_a_recipe(tmp_path):
    assert "The file cannot be read: Is a directory." in _fault(f"{tmp_path}/")


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"name = \xff")
    assert "The file is not UTF-8 text, at byte 7. Save it as UTF-8." in _fault(str(path))


def test_a_syntax_error_names_file_line_and_column(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"\nseed = = 3\n', encoding="utf-8")
    assert re.search(
        r"mine\.toml: Not valid TOML at line 2, column 8: Invalid value", _fault(str(path))
    )
