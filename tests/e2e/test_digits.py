"""Whole runs of the digits recipe, as a user starts them."""

import json
import pathlib
import shutil

import pytest
import tensorflow as tf
from sklearn import datasets

from components.evaluator import outcome
from components.publisher import publish
from pipeline.state import steps
from tests import conftest

_GATE_REFUSED = 3


@pytest.fixture
def later_root(digits_run, tmp_path):
    """A copy of the finished run's root, for a run after it."""
    root = tmp_path / "runs"
    shutil.copytree(digits_run.root, root)
    return root


def _run(root, cache_home, *settings):
    """Runs digits with settings; returns the exit status, the summary and the steps' progress."""
    words = [word for setting in settings for word in ("--set", setting)]
    done = conftest.run_kerasline(
        "run", "digits", "--root", str(root), "--json", *words, cache_home=cache_home
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def _newest_outcome(root):
    folders = (root / "digits" / "artifacts" / "evaluator" / "evaluation").iterdir()
    return outcome.read(max(folders, key=lambda folder: int(folder.name)))


def test_every_step_ran(digits_run):
    assert set(digits_run.summary["seconds"]["steps"]) == {step.name for step in steps.of("image")}


def test_the_published_model_knows_digits_that_it_never_saw(digits_run):
    model = tf.saved_model.load(str(digits_run.published))
    images, labels = datasets.load_digits(return_X_y=True)
    pixels = tf.floor(tf.reshape(tf.cast(images, tf.float32) * 255 / 16, (-1, 8, 8, 1)))
    answers = model.signatures["serving_default"](image=pixels)["class_ids"].numpy()
    assert (answers == labels).mean() > 0.95


def test_tfma_reads_what_the_evaluator_wrote(digits_run):
    import tensorflow_model_analysis as tfma

    folder = digits_run.root / "digits" / "artifacts" / "evaluator" / "evaluation"
    (evaluation,) = folder.iterdir()
    result = tfma.load_eval_result(str(evaluation))
    overall = dict(result.slicing_metrics)[()][""][""]["accuracy"]["doubleValue"]
    assert overall == pytest.approx(digits_run.summary["metrics"]["accuracy"])
    assert len(result.slicing_metrics) == 11


def test_the_confusion_matrix_agrees_with_the_accuracy(digits_run):
    found = _newest_outcome(digits_run.root)
    num_right = sum(found.confusion_KK[label][label] for label in range(10))
    assert sum(map(sum, found.confusion_KK)) == found.num_examples
    assert num_right / found.num_examples == pytest.approx(found.metrics["accuracy"])


def test_the_report_is_where_the_summary_says(digits_run):
    text = pathlib.Path(digits_run.summary["report_path"]).read_text()
    assert "The model met every threshold." in text


def test_a_missed_class_threshold_refuses_without_training_again(later_root, cache_home):
    status, summary, progress = _run(
        later_root, cache_home, "evaluation.min_class_accuracy=1.0", "evaluation.min_accuracy=1.0"
    )
    assert status == _GATE_REFUSED
    assert summary["status"] == "gate_refused"
    assert "accuracy on class '" in summary["sentence"]
    assert "must be at least 1.0000 (short by" in summary["sentence"]
    assert "Train the model: cached" in progress
    assert publish.versions(later_root / "digits" / "published") == [1]
    assert pathlib.Path(summary["report_path"]).exists()


def test_a_worse_model_is_refused_against_the_last_published(later_root, cache_home):
    status, summary, _ = _run(
        later_root,
        cache_home,
        "training.num_epochs=1",
        "evaluation.min_accuracy=0.0",
        "evaluation.min_class_accuracy=0.0",
    )
    assert status == _GATE_REFUSED
    assert "accuracy fell by" in summary["sentence"]
    assert "relax `evaluation.max_accuracy_drop`" in summary["sentence"]
    assert publish.versions(later_root / "digits" / "published") == [1]


def test_another_good_model_is_compared_and_published_as_the_next_version(
    later_root, cache_home, digits_run
):
    status, summary, _ = _run(later_root, cache_home, "training.num_epochs=25")
    assert (status, summary["published"]["version"]) == (0, 2)
    baseline = _newest_outcome(later_root).baseline_metrics
    assert baseline["accuracy"] == pytest.approx(digits_run.summary["metrics"]["accuracy"])
