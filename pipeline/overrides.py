"""Reads `--set training.num_epochs=3` and applies it to plain recipe data."""

import copy
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline import config_errors


def parse(text: str) -> tuple[tuple[str, ...], Any]:
    """Splits one override into its path and its value.

    The value is TOML; a text without quotes is accepted when it is not valid TOML.

    Raises:
        ConfigError: If there is no `=`, a part of the key is empty, or the value is malformed.

    >>> parse("training.num_epochs=3")
    (('training', 'num_epochs'), 3)
    >>> parse("training.schedule.name=cosine")
    (('training', 'schedule', 'name'), 'cosine')
    """
    key, equals, value = text.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        raise config_errors.ConfigError(
            f"--set {text}",
            ["Expected KEY=VALUE with a dotted key, such as --set training.num_epochs=3."],
        )
    return path, _value(text, value.strip())


def apply(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Returns a copy of `values` with each override set, later ones over earlier ones.

    Raises:
        ConfigError: If an override is malformed or reaches below something that is not a table.
    """
    result = copy.deepcopy(dict(values))
    for text in overrides:
        path, value = parse(text)
        _set(result, path, value, text)
    return result


def _value(text: str, value: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        parsed = {}
    # More than one key means that the text held a line break and was read as several lines.
    if parsed.keys() == {"value"}:
        return parsed["value"]
    if not value or value[0] in "[{\"'" or "\n" in value:
        raise config_errors.ConfigError(
            f"--set {text}",
            [
                f"The value is not valid TOML. Received: {value!r}. Write a number, true or false, "
                "a text, or a list such as [32, 64], and quote it all for the shell."
            ],
        )
    return value


def _set(values: dict[str, Any], path: tuple[str, ...], value: Any, text: str) -> None:
    *sections, last = path
    table = values
    for depth, part in enumerate(sections, start=1):
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise config_errors.ConfigError(
                f"--set {text}",
                [
                    f"{'.'.join(path[:depth])} holds a value, not a table, so it has no key "
                    f"{path[depth]}. Set {'.'.join(path[:depth])} itself."
                ],
            )
        table = inner
    table[last] = value
