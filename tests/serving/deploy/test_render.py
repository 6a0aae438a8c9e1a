import pathlib

import pytest
import yaml

from serving.deploy import compose, kserve, kubernetes, render, server_files

RENDERERS = {"docker": compose, "kubernetes": kubernetes, "kserve": kserve}


@pytest.mark.parametrize("target", render.TARGETS)
def test_yaml_says_what_the_target_rendered(make_config, target):
    config = make_config()
    files = render.render(config, target=target)
    read = {name: yaml.safe_load(text) for name, text in files.items() if name.endswith(".yaml")}
    assert read == RENDERERS[target].render(config)


@pytest.mark.parametrize("target", render.TARGETS)
def test_same_config_gives_the_same_bytes_and_no_path_of_this_machine(make_config, target):
    texts = render.render(make_config(), target=target)
    assert texts == render.render(make_config(), target=target)
    assert not any(str(pathlib.Path.cwd()) in text for text in texts.values())


def test_server_files_lie_in_config_and_in_the_config_map_alike(make_config):
    files = render.render(make_config(), target="kubernetes")
    data = yaml.safe_load(files["configmap.yaml"])["data"]
    assert data == server_files.render(make_config())
    for name, text in data.items():
        heading, _, rest = files[f"config/{name}"].partition("\n")
        assert heading.startswith("# ") and rest == text


def test_yaml_has_no_aliases(make_config):
    config = make_config(kubernetes={"client_namespaces": ["a", "b"]})
    files = render.render(config, target="kubernetes")
    for text in (text for name, text in files.items() if name.endswith(".yaml")):
        events = list(yaml.parse(text))
        assert not any(isinstance(event, yaml.AliasEvent) for event in events)


def test_unknown_target_names_the_known_ones(make_config):
    with pytest.raises(ValueError, match="one of docker, kubernetes, kserve. Received: target='x'"):
        render.render(make_config(), target="x")


def test_folder_appears_with_every_file(make_config, tmp_path):
    files = render.render(make_config(), target="docker")
    render.write(files, tmp_path / "out")
    written = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_text(encoding="utf-8")
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert written == files


def test_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(FileExistsError, match="must be a new or an empty folder"):
        render.write({"a.yaml": "a"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
