"""Checks how `--set` is read and applied."""

import pytest

from pipeline import config_errors, overrides


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b=3e-4", 3e-4),
        ("a.b=true", True),
        ("a.b=[32, 64]", [32, 64]),
        ('a.b="3"', "3"),
        ("a.b={ c = 1 }", {"c": 1}),
        ("a.b=cosine", "cosine"),
        ("a.b=/data/set=1", "/data/set=1"),
        ("a.b=T-shirt/top", "T-shirt/top"),
    ],
)
def test_a_value_is_toml_or_a_bare_text(text, value):
    assert overrides.parse(text) == (("a", "b"), value)


@pytest.mark.parametrize("text", ["seed", "=3", "a..b=1", ".a=1", ""])
def test_a_malformed_override_names_the_form(text):
    with pytest.raises(config_errors.ConfigError, match="Expected KEY=VALUE with a dotted key"):
        overrides.parse(text)


@pytest.mark.parametrize("value", ["[1, 2", '"half', "{ a = }", "", "1\nb = 2"])
def test_half_a_value_is_refused(value):
    with pytest.raises(config_errors.ConfigError, match="The value is not valid TOML"):
        overrides.parse(f"a={value}")


def test_a_key_below_a_value_is_refused():
    with pytest.raises(config_errors.ConfigError, match="seed holds a value, not a table"):
        overrides.apply({"seed": 1}, ["seed.x=2"])


def test_the_last_override_wins():
    assert overrides.apply({"a": {"b": 1}}, ["a.b=2", "a.b=3"]) == {"a": {"b": 3}}


def test_the_given_values_stay_as_they_were():
    values = {"a": {"b": 1}}
    overrides.apply(values, ["a.b=2"])
    assert values == {"a": {"b": 1}}
