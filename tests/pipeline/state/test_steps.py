"""Checks that the step table is whole."""

import pytest

from pipeline import config_keys
from pipeline.config import Recipe, RunConfig
from pipeline.state import steps


def test_names_are_unique():
    assert len(steps.BY_NAME) == len(steps.STEPS)


def test_a_step_comes_after_its_upstream_steps():
    seen = set()
    for step in steps.STEPS:
        assert seen.issuperset(step.upstream)
        seen.add(step.name)


@pytest.mark.parametrize("leaf", config_keys.leaf_keys(Recipe))
def test_every_recipe_key_is_read_by_some_step(leaf):
    readers = [
        step.name
        for step in steps.STEPS
        if any(leaf == key or leaf.startswith(f"{key}.") for key in step.recipe_keys)
    ]
    assert readers


@pytest.mark.parametrize("step", steps.STEPS, ids=lambda step: step.name)
def test_every_key_in_the_table_exists(step):
    leaves = config_keys.leaf_keys(Recipe)
    for key in step.recipe_keys:
        assert any(leaf == key or leaf.startswith(f"{key}.") for leaf in leaves)
    assert set(step.run_keys) <= set(RunConfig.model_fields)
