"""The examples in docstrings run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("models", "serving", "components", "pipeline")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for layer in LAYERS
    for path in (ROOT / layer).rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testmod(module, optionflags=options)
    assert outcome.attempted > 0
    assert outcome.failed == 0
