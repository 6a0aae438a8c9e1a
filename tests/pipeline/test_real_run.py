"""Checks one real run of the digits recipe, from the command line's side."""

import json
import pathlib
import subprocess
import sys

import pytest

from pipeline.state import files, steps
from tests import conftest


def test_the_model_is_good_enough_and_published(digits_run):
    assert digits_run.summary["status"] == "published"
    assert digits_run.summary["metrics"]["accuracy"] >= 0.9
    assert digits_run.summary["published"]["version"] == 1


def test_the_printed_object_is_the_runs_summary(digits_run):
    path = pathlib.Path(digits_run.summary["run_dir"], "summary.json")
    assert json.loads(path.read_text(encoding="utf-8")) == digits_run.summary


def test_every_step_was_timed_and_the_imports_too(digits_run):
    seconds = digits_run.summary["seconds"]
    assert set(seconds["steps"]) == {step.name for step in steps.of("image")}
    assert seconds["imports"] > 0.0


@pytest.mark.parametrize("step", steps.of("image"), ids=lambda step: step.name)
def test_every_step_was_told(digits_run, step):
    assert f"{step.title}: done in " in digits_run.progress


def test_every_epoch_was_told(digits_run):
    assert "Train the model: epoch 20 of 20, loss 0." in digits_run.progress


def test_the_published_files_are_those_of_the_summary(digits_run):
    assert files.digest_tree(digits_run.published) == digits_run.summary["published"]["files"]


def test_the_report_is_there(digits_run):
    assert pathlib.Path(digits_run.summary["report_path"]).is_file()


def test_a_second_run_changes_nothing_and_imports_no_tensorflow(digits_run, cache_home):
    program = (
        "import sys; from pipeline.cli import main;"
        f"status = main.main(['run', 'digits', '--root', {str(digits_run.root)!r}, '--json']);"
        "heavy = [name for name in ('tensorflow', 'keras', 'tfx') if name in sys.modules];"
        "sys.exit(f'status {status}, imported {heavy}' if status or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=conftest.environment(cache_home),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "up_to_date"
    assert told["metrics"] == digits_run.summary["metrics"]
    assert told["published"] == digits_run.summary["published"]


def test_explain_finds_nothing_to_run(digits_run, cache_home):
    done = conftest.run_kerasline(
        "explain", "digits", "--root", str(digits_run.root), cache_home=cache_home
    )
    assert done.stdout.endswith("Nothing would run.\n")


def test_a_threshold_would_leave_the_trainer_alone(digits_run, cache_home):
    words = ("explain", "digits", "--root", str(digits_run.root), "--json")
    done = conftest.run_kerasline(
        *words, "--set", "evaluation.min_accuracy=0.95", cache_home=cache_home
    )
    reasons = json.loads(done.stdout)["steps"]
    assert reasons["trainer"] == []
    assert reasons["evaluator"] == ["evaluation.min_accuracy changed: 0.9 -> 0.95"]


def test_the_model_answers_about_the_example_image(digits_run, cache_home):
    done = conftest.run_kerasline(
        *("predict", "--model", str(digits_run.published.parent), "--json"),
        *digits_run.summary["ask"],
        cache_home=cache_home,
    )
    likeliest = json.loads(done.stdout)["predictions"][0]["classes"][0]
    assert likeliest["name"] in "0123456789"
    assert 0.1 < likeliest["probability"] <= 1.0
    assert done.stderr == ""
