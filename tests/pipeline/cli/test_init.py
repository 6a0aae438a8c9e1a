import click.testing
import pytest

from pipeline import recipe_draft, recipe_files
from pipeline.cli import init
from tests.components.ingest import test_survey


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `kerasline init` in an empty folder, which holds `pictures` with two classes."""
    monkeypatch.chdir(tmp_path)
    test_survey.write_images(tmp_path / "pictures", {"ant": 20, "bee": 60})
    runner = click.testing.CliRunner()
    return lambda *arguments: runner.invoke(init.command, [str(word) for word in arguments])


def test_recipe_that_is_written_can_be_loaded_and_fits_the_images(run, tmp_path):
    result = run(tmp_path / "pictures")
    assert (result.exit_code, result.output) == (
        0,
        "80 images, 2 classes -> pictures.toml\nNext: kerasline run ./pictures.toml\n",
    )
    recipe = recipe_files.load("./pictures.toml")
    image = recipe.data.image
    assert (image.height_px, image.width_px, image.channels, image.resize) == (4, 6, 3, False)
    assert recipe.data.label.class_names == ("ant", "bee")
    assert recipe.evaluation.min_accuracy == 0.8


def test_large_images_are_shrunk_and_get_a_convolutional_network(run, tmp_path):
    test_survey.write_images(tmp_path / "wide", {"ant": 20, "bee": 20}, width_px=400)
    run(tmp_path / "wide")
    recipe = recipe_files.load("./wide.toml")
    assert (recipe.data.image.height_px, recipe.data.image.width_px) == (1, 96)
    assert recipe.data.image.resize


def test_given_test_split_is_kept(run, tmp_path):
    test_survey.write_images(tmp_path / "given" / "train", {"ant": 20, "bee": 20}, width_px=40)
    test_survey.write_images(tmp_path / "given" / "test", {"ant": 5, "bee": 5}, width_px=40)
    run(tmp_path / "given")
    assert recipe_files.load("./given.toml").data.splits.test_share is None


def test_names_with_quotes_and_other_letters_are_written_right(run, tmp_path):
    names = ['say "hi"', "größe", "back\\slash"]
    test_survey.write_images(tmp_path / "odd names", dict.fromkeys(names, 20))
    run(tmp_path / "odd names")
    assert recipe_files.load("./odd_names.toml").data.label.class_names == tuple(sorted(names))


def test_file_that_is_there_is_not_overwritten_without_force(run, tmp_path):
    (tmp_path / "mine.toml").write_text("precious")
    result = run(tmp_path / "pictures", "-o", "mine.toml")
    assert result.exit_code == 2 and "overwrite it with --force" in result.output
    assert (tmp_path / "mine.toml").read_text() == "precious"
    assert run(tmp_path / "pictures", "-o", "mine.toml", "--force").exit_code == 0


def test_folder_that_cannot_be_used_is_bad_input(run, tmp_path):
    result = run(tmp_path / "nowhere")
    assert result.exit_code == 2 and "nowhere, which is no folder" in result.output


def test_place_that_cannot_be_written_is_bad_input(run, tmp_path):
    result = run(tmp_path / "pictures", "-o", "none/mine.toml")
    assert result.exit_code == 2 and "cannot be written: No such file" in result.output


@pytest.mark.parametrize(
    ("folder", "name"), [("Photos", "photos"), ("2026", "images_2026"), ("ä", "images")]
)
def test_name_is_one_that_recipes_allow(tmp_path, folder, name):
    assert recipe_draft.recipe_name(tmp_path / folder) == name
