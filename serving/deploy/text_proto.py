"""Writes text protos from plain data, so that rendering needs no generated classes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def dumps(message: Mapping[str, Any]) -> str:
    """Writes a message, one field a line.

    Args:
        message: Field -> whole number, boolean, ASCII text, message, or a list of these.

    Raises:
        ValueError: If a text is not ASCII.

    >>> print(dumps({"config": [{"name": "digits", "labels": []}], "size": {"value": 8}}), end="")
    config {
      name: "digits"
    }
    size {
      value: 8
    }
    """
    return "".join(f"{line}\n" for line in _lines(message))


def _lines(message: Mapping[str, Any]) -> Iterator[str]:
    for name, value in message.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                yield f"{name} {{"
                yield from (f"  {line}" for line in _lines(item))
                yield "}"
            else:
                yield f"{name}: {_scalar(item)}"


def _scalar(item: bool | int | str) -> str:
    if isinstance(item, str) and not item.isascii():
        raise ValueError(f"A text proto's text must be ASCII. Received: {item!r}.")
    # JSON and text protos write ASCII texts, booleans and whole numbers alike.
    return json.dumps(item)
