import json

import click.testing
import numpy as np
import pyarrow
import pyarrow.parquet
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


def write_trips(tmp_path, num_rows=400):
    lines = [
        f"t{n},{n % 7}.5,{'cash' if n % 3 else 'card'},same,{n % 2}\n" for n in range(num_rows)
    ]
    (tmp_path / "trips.csv").write_text("id,fare,paid,city,tip\n" + "".join(lines))
    return tmp_path / "trips.csv"


def test_a_table_gets_its_columns_by_kind_without_ids_and_constants(run, tmp_path):
    result = run(write_trips(tmp_path), "--label", "tip")
    assert result.output.startswith("400 rows, 5 columns -> trips.toml")
    recipe = recipe_files.load("./trips.toml")
    kinds = {name: column.kind for name, column in recipe.data.table.columns.items()}
    assert kinds == {"fare": "number", "paid": "category"}
    assert (recipe.task, recipe.data.class_names) == ("tabular_classification", ("0", "1"))
    assert recipe.evaluation.min_accuracy == 0.52
    text = (tmp_path / "trips.toml").read_text()
    assert "# Left out: id differs in nearly every row." in text
    assert "# Left out: city never changes." in text


def test_a_number_is_predicted_better_than_by_its_mean(run, tmp_path):
    run(write_trips(tmp_path), "--target", "fare")
    recipe = recipe_files.load("./trips.toml")
    assert (recipe.task, recipe.data.target.source_name) == ("tabular_regression", "fare")
    assert recipe.evaluation.max_mae == pytest.approx(12 / 7, rel=0.01)


def test_texts_in_json_lines_get_a_bag_of_embeddings(run, tmp_path):
    rows = [
        {"review": f"this is review number {n} of a thing", "score": "good" if n % 3 else "bad"}
        for n in range(200)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "reviews.jsonl").write_text(lines)
    run(tmp_path / "reviews.jsonl")
    recipe = recipe_files.load("./reviews.toml")
    assert (recipe.task, recipe.model.architecture) == ("text_classification", "bag_of_embeddings")
    assert recipe.data.class_names == ("bad", "good")


def test_a_series_gets_its_period_and_is_split_by_time(run, tmp_path):
    hours = np.arange(24 * 40)
    load = np.sin(hours * 2 * np.pi / 24) + np.random.default_rng(0).normal(0, 0.05, len(hours))
    table = pyarrow.table({"when": hours * 3600, "load": load})
    pyarrow.parquet.write_table(table, tmp_path / "load.parquet")
    run(tmp_path / "load.parquet", "--time", "when", "--value", "load")
    recipe = recipe_files.load("./load.toml")
    series = recipe.data.series
    assert (series.period_steps, series.horizon_steps, series.history_steps) == (24, 24, 48)
    assert (recipe.data.splits.by, recipe.model.architecture) == ("time", "dlinear")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trips.csv", "--label", "tipp"], 'Expected a column "tipp". Received: id, fare'),
        (["trips.csv", "--time", "id"], "Give --label, or --target, or --time and --value"),
        (["pictures", "--label", "tip"], "--label needs a file of rows"),
        (["trips.xls"], "a file whose name ends with .csv"),
        (["empty.csv"], "Expected rows in"),
    ],
)
def test_a_file_that_cannot_be_used_is_bad_input(run, tmp_path, arguments, message):
    write_trips(tmp_path)
    (tmp_path / "trips.xls").write_text("x")
    (tmp_path / "empty.csv").write_text("")
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output
