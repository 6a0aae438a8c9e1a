"""Whole runs of a table and of texts, as a user starts them, down to the served answers."""

import json
import math
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from components.transform import fitted
from pipeline.state import steps
from tests import conftest


def test_every_step_of_a_table_ran(taxi_run):
    assert set(taxi_run.summary["seconds"]["steps"]) == {step.name for step in steps.of("table")}


def test_the_tables_model_is_better_than_the_most_frequent_class(taxi_run):
    assert taxi_run.summary["status"] == "published"
    assert taxi_run.summary["metrics"]["accuracy"] > 0.775 + 0.08


def test_what_the_guard_found_in_the_trips_is_in_the_summary_and_in_the_report(taxi_run):
    (found,) = taxi_run.summary["data_findings"]
    assert (found["name"], found["severity"]) == ("exact_duplicates", "note")
    # Lines 11 and 22 of the file differ in columns that the recipe leaves out.
    assert found["examples"] == [["data.csv:22", "data.csv:11"]]
    page = pathlib.Path(taxi_run.summary["report_path"]).read_text(encoding="utf-8")
    assert found["sentence"] in page and "data.csv:22 = data.csv:11" in page


def test_what_was_fitted_lies_beside_the_keras_model(taxi_run):
    (folder,) = taxi_run.root.glob("taxi/artifacts/trainer/model/*/Format-Keras")
    found = fitted.read(folder)
    assert set(found.numbers) >= {"trip_miles", "fare"}
    assert "Credit Card" in found.categories["payment_type"]


def _ask(run, cache_home, *words):
    done = conftest.run_kerasline(
        "predict", "--model", str(run.published.parent), "--json", *words, cache_home=cache_home
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["predictions"]


def test_the_printed_command_asks_about_a_row_of_the_test_split(taxi_run, cache_home):
    assert taxi_run.summary["ask"][0] == "--row"
    (answer,) = _ask(taxi_run, cache_home, *taxi_run.summary["ask"])
    assert {item["name"] for item in answer["classes"]} == {"0", "1"}


def test_a_tip_on_a_card_is_likelier_than_one_in_cash(taxi_run, cache_home):
    rows = [
        json.dumps({"fare": 12.0, "trip_miles": 3.0, "payment_type": kind})
        for kind in ("Credit Card", "Cash")
    ]
    answers = _ask(taxi_run, cache_home, "--row", rows[0], "--row", rows[1])
    tips = [
        item["probability"]
        for answer in answers
        for item in answer["classes"]
        if item["name"] == "1"
    ]
    # Tips in cash are not recorded.
    assert tips[1] < 0.05 < tips[0]


def test_named_columns_and_examples_give_the_same_answers(taxi_run):
    signatures = tf.saved_model.load(str(taxi_run.published)).signatures
    specs = signatures["serving_default"].structured_input_signature[1]
    columns = {
        name: tf.constant(["Cash", ""] if spec.dtype == tf.string else [3.5, math.nan], spec.dtype)
        for name, spec in specs.items()
    }
    full, empty = tf.train.Example(), tf.train.Example()
    for name, spec in specs.items():
        feature = full.features.feature[name]
        if spec.dtype == tf.string:
            feature.bytes_list.value.append(b"Cash")
        else:
            feature.float_list.value.append(3.5)
    examples = tf.constant([full.SerializeToString(), empty.SerializeToString()])
    by_name = signatures["serving_default"](**columns)["probabilities"]
    by_example = signatures["serve_examples"](examples=examples)["probabilities"]
    np.testing.assert_array_equal(by_name, by_example)
    scores = signatures["classify"](inputs=examples)["scores"]
    np.testing.assert_array_equal(scores, by_example)


def test_every_step_of_texts_ran(texts_run):
    assert set(texts_run.summary["seconds"]["steps"]) == {step.name for step in steps.of("text")}
    assert texts_run.summary["metrics"]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The soup was TASTY, today!", "praise"), ("we had soggy cake", "blame")],
)
def test_a_text_is_understood_by_its_words(texts_run, cache_home, text, expected):
    (answer,) = _ask(texts_run, cache_home, "--text", text)
    assert answer["text"] == text
    assert answer["classes"][0]["name"] == expected


def test_a_changed_vocabulary_is_fitted_and_trained_anew(texts_run, cache_home):
    recipe = str(texts_run.root.parent / "texts.toml")
    words = ("explain", recipe, "--root", str(texts_run.root), "--json")
    done = conftest.run_kerasline(
        *words, "--set", "data.text.vocabulary_size=20", cache_home=cache_home
    )
    reasons = json.loads(done.stdout)["steps"]
    assert "data.text.vocabulary_size changed: 8000 -> 20" in reasons["transform"]
    assert reasons["trainer"] != []
