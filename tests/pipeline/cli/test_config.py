"""Checks `kerasline config`."""

import json
import tomllib

from pipeline import recipe_files
from pipeline.cli import main


def test_show_prints_the_resolved_recipe_as_toml(capsys):
    assert main.main(["config", "show", "digits", "--set", "training.num_epochs=3"]) == 0
    expected = recipe_files.load("digits", ["training.num_epochs=3"]).to_dict()
    assert tomllib.loads(capsys.readouterr().out) == expected


def test_show_prints_json_on_demand(capsys):
    assert main.main(["config", "show", "digits", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == recipe_files.load("digits").to_dict()


def test_list_names_every_recipe(capsys):
    assert main.main(["config", "list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert tuple(names) == recipe_files.shipped_names()
