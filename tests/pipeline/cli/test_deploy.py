import stat
import subprocess
import sys

import click.testing
import pytest
import yaml

from pipeline.cli import deploy, serve
from serving.deploy import render as renderer

PEM = "-----BEGIN X-----\nYQ==\n-----END X-----\n"
# Target -> where its command line is: the file, then the keys.
COMMAND_LINES = {
    "docker": ("compose.yaml", "services", "model-server", "command"),
    "kubernetes": ("deployment.yaml", "spec", "template", "spec", "containers", 0, "args"),
    "kserve": ("inferenceservice.yaml", "spec", "predictor", "containers", 0, "args"),
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `kerasline deploy` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = click.testing.CliRunner()
    return lambda *words: runner.invoke(deploy.command, [str(word) for word in words])


def test_targets_of_the_command_are_those_that_can_be_rendered():
    assert deploy.TARGETS == renderer.TARGETS


@pytest.mark.parametrize("target", deploy.TARGETS)
def test_folder_is_written_and_the_next_command_told(run, tmp_path, target):
    result = run("render", "digits", "--target", target, "-o", "out")
    assert result.exit_code == 0, result.output
    *names, following = result.output.splitlines()
    assert all((tmp_path / name).is_file() for name in names)
    assert {"out/deploy.toml", "out/config/models.config"} <= set(names)
    assert following.startswith("Next: ") and "out" in following


def test_folder_rendered_from_its_own_config_is_the_same(run, tmp_path):
    run("render", "digits", "--target", "kserve", "-o", "one", "--set", "kserve.canary_percent=5")
    run("render", "--target", "kserve", "-o", "two", "--config", "one/deploy.toml")
    one, two = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "one", tmp_path / "two")
    )
    assert one and one == two


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "helm"], "'helm' is not one of 'docker', 'kubernetes', 'kserve'"),
        (["--target", "docker", "--set", "rest_port=8500"], "must differ"),
        (["--target", "kserve", "--set", "kserve.canary_percent=101"], "at most 100"),
        (["--target", "docker", "--set", "models=[]"], "at least 1 of them"),
        (["--target", "kubernetes", "--set", "name=My_App"], "DNS names"),
        (["--target", "docker", "--config", "none.toml"], "There is no such file"),
        (["--target", "kserve", "--set", "tls={}"], "cannot use tls"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(run, tmp_path, words, sentence):
    result = run("render", *words, "-o", "out")
    assert result.exit_code == 2 and sentence in result.output
    assert list(tmp_path.iterdir()) == []


def test_folder_that_holds_something_is_bad_input(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("precious")
    result = run("render", "--target", "docker", "-o", "out")
    assert result.exit_code == 2 and "must be a new or an empty folder" in result.output
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


@pytest.mark.parametrize("target", deploy.TARGETS)
def test_flags_of_the_container_are_accepted_by_kerasline_serve(run, tmp_path, target):
    run("render", "digits", "--target", target, "-o", "out")
    document = yaml.safe_load((tmp_path / "out" / COMMAND_LINES[target][0]).read_text())
    for key in COMMAND_LINES[target][1:]:
        document = document[key]
    values = serve.command.make_context("serve", list(document)).params
    given = {
        name: value
        for name, value in values.items()
        if value is not None and name not in ("root", "recipe_name")
    }
    settings = serve._make_config(given)
    assert (settings.port, settings.rest_api_port, settings.enable_batching) == (8500, 8501, True)


def test_ssl_config_is_readable_to_its_owner_only(run, tmp_path):
    (tmp_path / "a.pem").write_text(PEM)
    words = ("ssl-config", "--key", "a.pem", "--certificate", "a.pem", "-o", "ssl.config")
    assert run(*words).exit_code == 0
    assert stat.S_IMODE((tmp_path / "ssl.config").stat().st_mode) == 0o600
    assert "server_key" in (tmp_path / "ssl.config").read_text()
    again = run(*words)
    assert again.exit_code == 2 and "is there already" in again.output


def test_key_that_is_not_pem_is_bad_input(run, tmp_path):
    (tmp_path / "a.pem").write_text(PEM)
    (tmp_path / "b.der").write_bytes(b"0\x82\xff")
    result = run("ssl-config", "--key", "b.der", "--certificate", "a.pem", "-o", "ssl.config")
    assert result.exit_code == 2 and "key must be PEM" in result.output


def test_rendering_imports_no_tensorflow(tmp_path):
    program = (
        "import sys; from pipeline.cli import main; "
        f"main.main(['deploy', 'render', '--target', 'docker', '-o', {str(tmp_path / 'out')!r}]); "
        "sys.exit('tensorflow' in sys.modules or 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
