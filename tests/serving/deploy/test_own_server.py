"""The embedded server takes what is rendered for TensorFlow Serving."""

import pathlib
import subprocess

import httpx
import pytest

from pipeline.cli import serve
from serving.deploy import server_files, server_process
from serving.server import model_configs
from tests.serving import harness, model_factory


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Holds what the container mounts: models and config."""
    root = tmp_path_factory.mktemp("mounted")
    (root / "models" / "digits").mkdir(parents=True)
    published = root / "models" / "digits" / "published"
    published.mkdir()
    model_factory.write_half_plus(published / "1", offset=2.0)
    return root


def placed(text: str, folder: pathlib.Path) -> str:
    """Exchanges the container's folders for those of the test."""
    text = text.replace(server_files.CONFIG_DIR, str(folder / "config"))
    return text.replace(f'"{server_files.MODELS_DIR}/', f'"{folder}/models/')


@pytest.fixture(scope="module")
def server(folder, make_config):
    config = make_config(models=[{"name": "digits", "versions": [1], "labels": {"stable": 1}}])
    (folder / "config").mkdir()
    for name, text in server_files.render(config).items():
        (folder / "config" / name).write_text(placed(text, folder), encoding="utf-8")
    words = [placed(word, folder) for word in server_process.flags(config)]
    values = serve.command.make_context("serve", words).params
    given = {
        name: value
        for name, value in values.items()
        if value is not None and name not in ("root", "recipe_name")
    }
    settings = serve._make_config(given).model_dump(exclude_unset=True)
    with harness.serve(**{**settings, "port": 0, "rest_api_port": 0}) as running:
        yield running


def test_rendered_files_and_flags_start_it(server):
    answer = server.post("/v1/models/digits/labels/stable:predict", {"instances": [[1.0], [2.0]]})
    assert answer.json() == {"predictions": [[2.5], [3.0]]}


def test_metrics_are_where_the_config_says(server):
    assert "request_count" in server.http.get("/monitoring/prometheus/metrics").text


def test_readiness_command_succeeds_for_an_available_model_only(server, make_config):
    def status(name):
        config = make_config(models=[{"name": name}], rest_port=server.app.rest_port)
        command = server_process.readiness_command(config)
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode

    assert (status("digits"), status("other")) == (0, 1)


def test_metadata_route_fails_for_a_model_that_is_not_available(server):
    def status(name):
        return server.http.get(f"/v1/models/{name}/metadata").status_code

    assert (status("digits"), status("other")) == (httpx.codes.OK, httpx.codes.NOT_FOUND)


def test_batching_file_is_read_as_it_was_meant(make_config, tmp_path):
    sizes = {"max_batch_size": 16, "num_batch_threads": 3, "allowed_batch_sizes": [4, 16]}
    path = tmp_path / "batching.config"
    path.write_text(server_files.render(make_config(batching=sizes))["batching.config"])
    options = model_configs.read_batching_file(path)
    assert (options.max_batch_size, options.num_batch_threads) == (16, 3)
    assert options.allowed_batch_sizes == (4, 16)
