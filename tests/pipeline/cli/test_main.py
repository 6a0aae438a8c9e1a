"""Checks the command line as a whole: its help, its errors and what it imports."""

import importlib
import json
import re
import subprocess
import sys

import click
import pytest

from pipeline.cli import group, main

_HEAVY = ("tensorflow", "keras", "tfx", "numpy", "apache_beam", "pandas", "rich")


def _leaf_commands():
    found = []
    for name, (module, _) in main.COMMANDS.items():
        command = importlib.import_module(module).command
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", inner) for sub, inner in command.commands.items()]
        else:
            found.append((name, command))
    return found


def test_help_imports_nothing_heavy():
    program = (
        "import sys, json; from pipeline.cli import main; main.main(['--help']);"
        f"print(json.dumps([name for name in {_HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_help_line_in_the_table_is_the_commands_own(name):
    module, line = main.COMMANDS[name]
    command = importlib.import_module(module).command
    assert command.get_short_help_str(limit=200) == line


@pytest.mark.parametrize(("name", "command"), _leaf_commands())
def test_every_command_has_an_example_in_its_help(name, command):
    assert re.search(rf"Example:\n +kerasline {name}", command.help.replace("\b\n", ""))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["confg"], "kerasline: No such command 'confg'. Did you mean 'config'?"),
        (["--halp"], "kerasline: No such option '--halp'. Did you mean '--help'?"),
        (["config", "show", "--sett"], "kerasline config show: No such option '--sett'."),
        (["config", "show", "nope"], "kerasline: recipe nope: There is no recipe of this name."),
    ],
)
def test_bad_input_ends_with_status_2_and_one_sentence(arguments, sentence, capsys):
    assert main.main(arguments) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_no_arguments_shows_the_help(capsys):
    assert main.main([]) == 0
    assert "Usage: kerasline" in capsys.readouterr().out


def test_the_version_is_one_line(capsys):
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kerasline ")


def test_an_interrupt_ends_with_status_130(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(group, "invoke", interrupted)
    assert main.main([]) == 130
    assert "interrupted" in capsys.readouterr().err
