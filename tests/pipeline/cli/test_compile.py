"""Checks how `kerasline compile` treats its arguments; the runners' tests check what it writes."""

import pytest

from pipeline.cli import main
from pipeline.runners import kubeflow


def _compile(*words):
    return main.main(["compile", "digits", *words])


@pytest.mark.parametrize(
    ("runner", "root"), [("kubeflow", "/runs"), ("vertex", "/runs"), ("vertex", "s3://bucket")]
)
def test_a_root_that_containers_cannot_reach_is_refused(tmp_path, capsys, runner, root):
    assert _compile("--runner", runner, "--root", root, "-o", str(tmp_path / "p.yaml")) == 2
    assert f"Received: --root {root}." in capsys.readouterr().err


def test_a_file_in_no_folder_is_refused(capsys):
    assert _compile("--runner", "kubeflow", "-o", "/no/such/p.yaml") == 2
    assert "Received: --output /no/such/p.yaml." in capsys.readouterr().err


def test_the_runner_gets_the_resolved_settings(tmp_path, capsys, monkeypatch):
    calls = []
    monkeypatch.setattr(kubeflow, "compile", lambda *arguments: calls.append(arguments))
    output = tmp_path / "p.yaml"
    words = ("--runner", "kubeflow", "--image", "mine:1", "--set", "seed=3", "-o", str(output))
    assert _compile(*words) == 0
    recipe, run_config, path = calls[0]
    assert (recipe.seed, run_config.image, path) == (3, "mine:1", output)
    assert run_config.root in capsys.readouterr().err
