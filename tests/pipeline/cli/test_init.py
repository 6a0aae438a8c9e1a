import json

import click.testing
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from components.ingest import example, ingest, png, tfrecord
from pipeline import recipe_files
from pipeline.cli import init
from pipeline.drafts import machine, parts
from tests.components import data_factories
from tests.components.ingest import test_recording_survey, test_survey


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `kerasline init` in an empty folder, which holds `pictures` with two classes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # The recipe must not depend on the machine that the tests run on.
    here = machine.Machine(num_cores=2, memory_bytes=8_000_000_000, gpu=None)
    monkeypatch.setattr(machine, "look", lambda: here)
    test_survey.write_images(tmp_path / "pictures", {"ant": 20, "bee": 60})
    runner = click.testing.CliRunner()
    return lambda *arguments: runner.invoke(init.command, [str(word) for word in arguments])


def test_recipe_that_is_written_can_be_loaded_and_fits_the_images(run, tmp_path):
    result = run(tmp_path / "pictures")
    assert (result.exit_code, result.output.splitlines()) == (
        0,
        [
            "80 images, 2 classes -> pictures.toml",
            "  predicts which folder an image of 6 x 4 px is from",
            "  the data guard found, below its limits: order_bias",
            "Next: kerasline run ./pictures.toml",
        ],
    )
    recipe = recipe_files.load("./pictures.toml")
    image = recipe.data.image
    assert (image.height_px, image.width_px, image.channels, image.resize) == (4, 6, 3, False)
    assert recipe.data.label.class_names == ("ant", "bee")
    assert recipe.evaluation.min_accuracy == 0.77


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
    ("folder", "name"), [("Photos", "photos"), ("2026", "data_2026"), ("ä", "data")]
)
def test_name_is_one_that_recipes_allow(tmp_path, folder, name):
    assert parts.recipe_name(tmp_path / folder) == name


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
    assert (recipe.evaluation.min_accuracy, recipe.evaluation.reference) == (0.52, "report")
    text = (tmp_path / "trips.toml").read_text()
    assert "# Left out: id differs in nearly every row." in text
    assert "# Left out: city never changes." in text


def test_a_number_is_predicted_better_than_by_its_median(run, tmp_path):
    run(write_trips(tmp_path), "--target", "fare")
    recipe = recipe_files.load("./trips.toml")
    assert (recipe.task, recipe.data.target.source_name) == ("tabular_regression", "fare")
    assert recipe.evaluation.min_skill == 0.0
    # The fares are 0.5 to 6.5, their median is 3.5.
    assert "is wrong by 1.71" in (tmp_path / "trips.toml").read_text()


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


def test_recordings_get_a_spectrogram_network_and_silence_is_accepted_with_its_reason(
    run, tmp_path
):
    test_recording_survey.write_tones(tmp_path / "sounds", {"high": 30, "low": 30}, num_silent=3)
    result = run(tmp_path / "sounds")
    assert "  accepted: 3 recordings are silent. For example low/0.wav; low/1.wav" in result.output
    recipe = recipe_files.load("./sounds.toml")
    assert (recipe.task, recipe.model.architecture) == ("audio_classification", "spectrogram_cnn")
    assert (recipe.data.audio.sample_rate_hz, recipe.data.audio.max_seconds) == (4000, 0.5)
    reason = recipe.data_guard.accept["blank_inputs"]
    assert reason.startswith("Found by kerasline init: 3 recordings are silent.")


def test_rows_with_times_are_split_by_time_and_do_not_learn_from_them(run, tmp_path):
    generator = np.random.default_rng(0)
    lines = [
        f"2026-01-{n % 28 + 1:02} 10:00:00,{generator.normal():.6f},{generator.integers(3)}\n"
        for n in range(400)
    ]
    (tmp_path / "sales.csv").write_text("sold_at,amount,rating\n" + "".join(lines))
    result = run(tmp_path / "sales.csv", "--label", "rating")
    assert "split by time: the latest rows by sold_at are the test split" in result.output
    recipe = recipe_files.load("./sales.toml")
    assert (recipe.data.splits.by, recipe.data.splits.key) == ("time", "sold_at")
    assert list(recipe.data.table.columns) == ["amount"]


@pytest.mark.parametrize("words", [[], ["--group", "customer_id"]])
def test_rows_of_a_customer_stay_together(run, tmp_path, words):
    generator = np.random.default_rng(0)
    lines = [f"c{n % 80},{generator.normal():.6f},{n % 2}\n" for n in range(800)]
    (tmp_path / "visits.csv").write_text("customer_id,amount,label\n" + "".join(lines))
    run(tmp_path / "visits.csv", *words)
    recipe = recipe_files.load("./visits.toml")
    assert (recipe.data.splits.by, recipe.data.splits.key) == ("group", "customer_id")
    assert list(recipe.data.table.columns) == ["amount"]


def test_a_gpu_gets_larger_images_and_more_of_them_at_once(run, tmp_path, monkeypatch):
    here = machine.Machine(num_cores=16, memory_bytes=8_000_000_000, gpu="A100")
    monkeypatch.setattr(machine, "look", lambda: here)
    test_survey.write_images(tmp_path / "wide", {"ant": 20, "bee": 20}, width_px=400)
    run(tmp_path / "wide")
    recipe = recipe_files.load("./wide.toml")
    assert (recipe.data.image.height_px, recipe.data.image.width_px) == (2, 224)
    text = (tmp_path / "wide.toml").read_text()
    assert "16 cores, 8 GB of free memory, A100." in text
    assert '"auto" takes the half precision that the A100 has units for.' in text


@pytest.mark.parametrize("words", [[], ["--time", "when", "--value", "load"]])
def test_a_series_is_seen_gets_its_period_and_is_split_by_time(run, tmp_path, words):
    hours = np.arange(24 * 40)
    load = np.sin(hours * 2 * np.pi / 24) + np.random.default_rng(0).normal(0, 0.05, len(hours))
    times = pyarrow.array(hours * 3600, pyarrow.timestamp("s"))
    table = pyarrow.table({"holiday": hours // 24 % 7 == 0, "when": times, "load": load})
    pyarrow.parquet.write_table(table, tmp_path / "load.parquet")
    result = run(tmp_path / "load.parquet", *words)
    assert "forecasts load, 24 steps ahead" in result.output
    recipe = recipe_files.load("./load.toml")
    series = recipe.data.series
    assert (series.period_steps, series.horizon_steps, series.history_steps) == (24, 24, 48)
    assert (recipe.data.splits.by, recipe.model.architecture) == ("time", "dlinear")


def write_arrays(folder):
    """Writes 300 images of three classes as NumPy and as TFRecord files."""
    images, labels = data_factories.random_images(300)
    arrays = {"x_train": images, "y_train": labels, "x_test": images[:9], "y_test": labels[:9]}
    np.savez(folder / "keras.npz", **arrays)
    writer = tfrecord.RecordWriter(folder / "part-00000-of-00001")
    for image, label in zip(png.encode_png(images[..., None]), labels.tolist(), strict=True):
        row = {"image/encoded": image, "image/class/label": label, "image/format": b"png"}
        writer.write(example.encode_example(row))
    writer.close()


@pytest.mark.parametrize(
    ("name", "kind", "image", "label", "test_share"),
    [
        ("keras.npz", "numpy", "x", "y", None),
        ("part-00000-of-00001", "tfrecord", "image/encoded", "image/class/label", 0.15),
    ],
)
def test_images_in_arrays_and_records_get_a_recipe_that_ingests(
    run, tmp_path, name, kind, image, label, test_share
):
    write_arrays(tmp_path)
    result = run(name, "-o", "drawn.toml")
    assert result.exit_code == 0, result.output
    data = recipe_files.load("./drawn.toml").data
    found = (data.source.kind, data.image.source_name, data.label.source_name)
    assert found == (kind, image, label)
    assert (data.image.height_px, data.image.channels, data.image.resize) == (4, 1, False)
    assert (data.class_names, data.splits.test_share) == (("0", "1", "2"), test_share)
    dataset = ingest.ingest(data, seed=0, cache_dir=tmp_path / "cache")
    assert sum(split.num_rows for split in dataset.manifest.splits.values()) in (300, 309)


def test_numbers_in_arrays_and_records_are_named_by_element(run, tmp_path):
    draw = np.random.default_rng(0)
    rows = [(float(draw.normal()), [1.5, float(draw.normal())]) for _ in range(100)]
    np.save(tmp_path / "m.npy", np.array([(number, *pair) for number, pair in rows]))
    writer = tfrecord.RecordWriter(tmp_path / "r.tfrecord")
    for number, pair in rows:
        row = {"x": pair, "name": b"ab"[: 1 + (number > 0)], "y": number}
        writer.write(example.encode_example(row))
    writer.close()
    run("m.npy", "--target", "x[2]")
    run("r.tfrecord", "--target", "y")
    recipes = [recipe_files.load(f"./{name}.toml").data for name in "mr"]
    assert [list(data.table.columns) for data in recipes] == [["x[0]"], ["name", "x[1]"]]
    for data in recipes:
        ingest.ingest(data, seed=0, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trips.csv", "--label", "tipp"], 'Expected a column "tipp". Received: id, fare'),
        (["trips.csv", "--time", "id", "--label", "tip"], "Give --label or --target, with --group"),
        (
            ["trips.csv", "--value", "fare"],
            "Expected a column of times. Received: id (id), fare (n",
        ),
        (["trips.csv", "--group", "ids"], 'Expected a column "ids"'),
        (["pictures", "--label", "tip"], "--label needs a file of rows"),
        (["trips.xls"], "a TFRecord file, or a file whose name ends with .csv"),
        (["empty.csv"], "Expected rows in"),
    ],
)
def test_a_file_that_cannot_be_used_is_bad_input(run, tmp_path, arguments, message):
    write_trips(tmp_path)
    (tmp_path / "trips.xls").write_text("x")
    (tmp_path / "empty.csv").write_text("")
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output
