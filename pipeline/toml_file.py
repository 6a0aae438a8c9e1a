"""Reads TOML files; a fault is one sentence that says what is wrong with the file."""

import pathlib
import re
import tomllib
from typing import Any

from pipeline import config_errors

_POSITION = re.compile(r"^(?P<fault>.*) \(at (?P<place>.*)\)$")


def parse(text: str, subject: str) -> dict[str, Any]:
    """Parses TOML.

    Args:
        text: What to parse.
        subject: What it is, for the error, such as `recipe digits`.

    Raises:
        ConfigError: If it is not valid TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.match(str(error))
        fault, place = (found["fault"], found["place"]) if found else (str(error), "unknown place")
        raise config_errors.ConfigError(
            subject, [f"Not valid TOML at {place}: {fault}. Correct that place."]
        ) from None


def read_text(path: pathlib.Path, subject: str, *, cure: str) -> str:
    """Reads a file as text.

    Args:
        path: The file.
        subject: What it is, for the error.
        cure: What to do if there is no such file: a sentence.

    Raises:
        ConfigError: If it is not there, cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        fault = f"There is no such file. {cure}"
    except UnicodeDecodeError as error:
        fault = f"The file is not UTF-8 text, at byte {error.start}. Save it as UTF-8."
    except OSError as error:
        fault = f"The file cannot be read: {error.strerror}. Name a readable TOML file."
    raise config_errors.ConfigError(subject, [fault])
