"""Loads a recipe: by the name of a shipped one, or by the path of a TOML file."""

import importlib.resources
import pathlib
from collections.abc import Iterable

from pipeline import config_errors, config_keys, overrides, toml_file
from pipeline.config import Recipe

DEFAULT_RECIPE = "fashion_mnist"


def shipped_names() -> tuple[str, ...]:
    """Names of the recipes that come with Kerasline, sorted."""
    folder = importlib.resources.files("pipeline.recipes")
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load(name_or_path: str, set_values: Iterable[str] = ()) -> Recipe:
    """Loads and checks a recipe.

    Args:
        name_or_path: A shipped name such as `digits`, or a path with a slash or the ending `.toml`.
        set_values: Overrides such as `training.num_epochs=3`, applied in order.

    Raises:
        ConfigError: If there is no such recipe, or it is unreadable or invalid. The message is one
            sentence per fault and names key, value and cure.

    >>> load("digits", ["training.num_epochs=3"]).training.num_epochs
    3
    """
    subject = f"recipe {name_or_path}"
    values = overrides.apply(toml_file.parse(_text(name_or_path, subject), subject), set_values)
    return config_errors.parse(Recipe, values, subject=subject)


def _text(name_or_path: str, subject: str) -> str:
    if not (name_or_path.endswith(".toml") or "/" in name_or_path):
        return _shipped_text(name_or_path, subject)
    cure = f"Name a file, or one of: {', '.join(shipped_names())}."
    return toml_file.read_text(pathlib.Path(name_or_path).expanduser(), subject, cure=cure)


def _shipped_text(name: str, subject: str) -> str:
    names = shipped_names()
    if name in names:
        resource = importlib.resources.files("pipeline.recipes") / f"{name}.toml"
        return resource.read_text(encoding="utf-8")
    near = config_keys.nearest(name, names)
    hint = f"Did you mean {near}? " if near else ""
    if pathlib.Path(f"{name}.toml").is_file():
        hint = f"Did you mean the file {name}.toml? "
    raise config_errors.ConfigError(
        subject, [f"There is no recipe of this name. {hint}Recipes: {', '.join(names)}."]
    )
