"""A whole run that predicts a number, as a user starts it, down to TFMA's files and the answers."""

import json
import pathlib

import pytest
import tensorflow as tf
import tensorflow_model_analysis as tfma

from tests import conftest


def test_the_model_is_better_than_the_median_by_its_own_account(prices_run):
    metrics = prices_run.summary["metrics"]
    assert prices_run.summary["status"] == "published"
    assert metrics["simple"] == "the median of the training split"
    assert metrics["skill"] == pytest.approx(1 - metrics["mae"] / metrics["simple_mae"])
    assert metrics["skill"] > 0.3


def test_trees_stand_beside_it_in_summary_and_report(prices_run):
    reference = prices_run.summary["reference"]
    assert (reference["name"], reference["metric"]) == ("boosted trees", "mae")
    mae = prices_run.summary["metrics"]["mae"]
    assert reference["value"] - mae == pytest.approx(reference["gain"], abs=1e-4)
    low, high = reference["interval"]
    assert low < reference["gain"] < high
    page = pathlib.Path(prices_run.summary["report_path"]).read_text(encoding="utf-8")
    assert reference["sentence"].split(":")[0] in page


def test_the_served_model_is_wrong_by_what_the_summary_says(prices_run):
    (split,) = prices_run.root.glob("prices/artifacts/ingest/examples/*/Split-test")
    served = tf.saved_model.load(str(prices_run.published))
    errors = []
    for serialized in tf.data.TFRecordDataset(sorted(map(str, split.iterdir()))):
        target = tf.train.Example.FromString(serialized.numpy()).features.feature["target"]
        (found,) = served.signatures["serve_examples"](examples=serialized[None]).values()
        errors.append(abs(float(found[0, 0]) - target.float_list.value[0]))
    mean = sum(errors) / len(errors)
    assert prices_run.summary["metrics"]["mae"] == pytest.approx(mean, rel=1e-4)


def test_tfma_reads_the_evaluation(prices_run):
    (folder,) = prices_run.root.glob("prices/artifacts/evaluator/evaluation/*")
    by_slice = dict(tfma.load_eval_result(str(folder)).slicing_metrics)
    found = by_slice[()][""][""]["mae"]["doubleValue"]
    assert found == pytest.approx(prices_run.summary["metrics"]["mae"])
    assert tfma.load_validation_result(str(folder)).validation_ok


def test_a_larger_flat_costs_more(prices_run, cache_home):
    rows = [json.dumps({"size": size, "place": "centre"}) for size in (30.0, 100.0)]
    done = conftest.run_kerasline(
        *("predict", "--model", str(prices_run.published.parent), "--json"),
        *("--row", rows[0], "--row", rows[1]),
        cache_home=cache_home,
    )
    assert done.returncode == 0, done.stderr
    small, large = json.loads(done.stdout)["predictions"]
    assert small["numbers"][0] + 100 < large["numbers"][0]
