"""Renders a config for a target: file name -> text, the same bytes each time."""

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from serving.deploy import compose, kserve, kubernetes, server_files
from serving.deploy import config as deploy_config
from serving.export import atomic_folder

_RENDERERS: Mapping[str, Callable[[deploy_config.DeployConfig], dict[str, dict[str, Any]]]] = {
    "docker": compose.render,
    "kubernetes": kubernetes.render,
    "kserve": kserve.render,
}
TARGETS = tuple(_RENDERERS)
_HEADING = "# Written by `kerasline deploy render`; change deploy.toml and render it again.\n"


def render(config: deploy_config.DeployConfig, *, target: str) -> dict[str, str]:
    """Renders every file of a deployment.

    Args:
        config: What is served and where.
        target: One of TARGETS.

    Returns:
        Path relative to the output folder -> text. The server's own files are in `config/`;
        manifests have the ending `.yaml`.

    Raises:
        ValueError: If there is no such target, or it cannot do what the config asks for.
    """
    if target not in _RENDERERS:
        raise ValueError(
            f"target must be one of {', '.join(TARGETS)}. Received: target={target!r}."
        )
    files = {
        f"config/{name}": f"{_HEADING}{text}" for name, text in server_files.render(config).items()
    }
    for name, document in _RENDERERS[target](config).items():
        files[name] = f"{_HEADING}{_to_yaml(document)}"
    return files


def write(files: Mapping[str, str], directory: pathlib.Path) -> None:
    """Writes rendered files to a new folder, which appears whole or not at all.

    Raises:
        FileExistsError: If `directory` is there and holds something, or is not a folder.
    """
    with atomic_folder.written_aside(directory) as partial:
        for name, text in files.items():
            path = partial / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _to_yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=100)
    return text
