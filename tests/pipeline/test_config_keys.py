"""Checks how keys are found and described."""

import pytest

from pipeline import config_keys
from pipeline.config import Recipe


@pytest.mark.parametrize(
    ("location", "key", "expected"),
    [
        (("seed",), "seed", "a whole number"),
        (("training", "num_epochs"), "training.num_epochs", "a whole number greater than 0"),
        (
            ("model", "mlp", "hidden_units", 1),
            "model.hidden_units[1]",
            "a whole number greater than 0",
        ),
        (("data", "source", "sklearn", "name"), "data.source.name", '"digits"'),
        (("data", "splits", "test_share"), "data.splits.test_share", "greater than 0 and less"),
        (("training", "jit_compile", "bool"), "training.jit_compile", 'true or false or "auto"'),
        (("data",), "data", "a table of keys"),
    ],
)
def test_a_location_leads_to_a_key_and_what_it_accepts(location, key, expected):
    slot = config_keys.find(Recipe, location)
    assert slot.key == key
    assert expected in config_keys.describe(slot.annotation, slot.constraints)


def test_an_unknown_key_has_no_type():
    assert config_keys.find(Recipe, ("training", "nothing")).annotation is None


def test_keys_of_all_members_of_a_union_are_listed_once():
    keys = config_keys.leaf_keys(Recipe)
    assert {"model.stage_channels", "model.depth", "model.hidden_units"} <= set(keys)
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("training.num_epoch", "training.num_epochs"),
        ("trainning", "training"),
        ("training.learning_rate", "training.optimizer.learning_rate"),
        ("global_batch_sise", "training.global_batch_size"),
        ("zzz", None),
    ],
)
def test_the_nearest_key_is_found_in_its_section_and_elsewhere(wrong, right):
    assert config_keys.nearest_key(wrong, Recipe) == right
