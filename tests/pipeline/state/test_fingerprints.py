"""Checks that a fingerprint changes exactly when something it covers does."""

import pytest

from pipeline import recipe_files
from pipeline.config import RunConfig
from pipeline.state import fingerprints, steps


def _digests(*set_values, strategy="auto", data="d1", environment=None):
    found = fingerprints.compute(
        recipe_files.load("digits", set_values),
        RunConfig(strategy=strategy),
        data_digest=data,
        environment=environment or {"python": "3.11"},
    )
    return {name: fingerprint.digest for name, fingerprint in found.items()}


def _changed(**options):
    set_values = options.pop("set_values", ())
    before, after = _digests(), _digests(*set_values, **options)
    return {name for name in before if before[name] != after[name]}


def test_the_same_inputs_give_the_same_digests():
    assert _changed() == set()


def test_an_evaluation_threshold_leaves_training_alone():
    changed = _changed(set_values=["evaluation.min_accuracy=0.95"])
    assert "evaluator" in changed
    assert changed.isdisjoint({"ingest", "statistics", "trainer", "model_check"})


def test_a_training_key_leaves_the_data_alone():
    changed = _changed(set_values=["training.num_epochs=3"])
    assert {"trainer", "evaluator", "publisher", "report"} <= changed
    assert changed.isdisjoint({"ingest", "statistics", "schema", "validation"})


def test_the_description_changes_only_the_report():
    assert _changed(set_values=["description=other"]) == {"report"}


def test_the_data_changes_all_that_reads_it():
    assert _changed(data="d2") == {step.name for step in steps.of("image")} - {"schema", "baseline"}


def test_the_environment_changes_every_step():
    assert _changed(environment={"python": "3.12"}) == {step.name for step in steps.of("image")}


def test_the_strategy_is_part_of_training():
    assert "trainer" in _changed(strategy="mirrored")


@pytest.mark.parametrize("name", recipe_files.shipped_names())
def test_every_step_has_a_fingerprint(name):
    recipe = recipe_files.load(name)
    found = fingerprints.compute(recipe, RunConfig(), data_digest="d", environment={})
    assert list(found) == [step.name for step in steps.of(recipe.data.input_name)]
