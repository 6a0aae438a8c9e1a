"""Loads a deployment's config, and turns it into the files of a target."""

import pathlib
from collections.abc import Iterable

from pipeline import config_errors, overrides, recipe_files, toml_file, toml_text
from serving.deploy import config as deploy_config
from serving.deploy import render


def load(
    path: pathlib.Path | None, set_values: Iterable[str] = (), *, recipe_name: str | None = None
) -> deploy_config.DeployConfig:
    """Loads and checks the config of a deployment.

    Args:
        path: A TOML file; None starts from the defaults.
        set_values: Overrides such as `cluster.max_replicas=4`, applied in order.
        recipe_name: The recipe whose newest published version is served, for a config that names no
            models; the default recipe if None.

    Raises:
        ConfigError: If the file is unreadable or invalid, or it names models and `recipe_name` is
            given too.

    >>> load(None, ["name=shop"], recipe_name="digits").models[0].folder
    'digits/published'
    """
    subject = f"deployment {path}" if path else "deployment"
    text = toml_file.read_text(path, subject, cure="Name another file.") if path else ""
    values = overrides.apply(toml_file.parse(text, subject), set_values)
    if "models" in values and recipe_name is not None:
        raise config_errors.ConfigError(
            subject,
            [
                "RECIPE and the key models name two things to serve. Received: "
                f"RECIPE = {recipe_name}, models = {toml_text.value(values['models'])}. "
                "Leave one of them out."
            ],
        )
    values.setdefault("models", [{"name": recipe_name or recipe_files.DEFAULT_RECIPE}])
    config: deploy_config.DeployConfig = config_errors.parse(
        deploy_config.DeployConfig, values, subject=subject
    )
    return config


def render_files(config: deploy_config.DeployConfig, *, target: str) -> dict[str, str]:
    """Renders a deployment for a target, with the config that gives it again, deploy.toml.

    Returns:
        Path relative to the output folder -> text.

    Raises:
        ValueError: If the target cannot do what the config asks for.
    """
    files = render.render(config, target=target)
    return {"deploy.toml": f"{toml_text.dumps(config.to_dict())}\n", **files}
