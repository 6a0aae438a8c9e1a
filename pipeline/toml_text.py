"""Writes plain data as TOML; the standard library only reads it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def dumps(table: Mapping[str, Any]) -> str:
    """Writes a table, so that `tomllib.loads(dumps(table)) == table`.

    Args:
        table: Strings, booleans, integers, finite floats, lists and tables.

    Raises:
        TypeError: If TOML has no form for a value, such as None.

    >>> print(dumps({"name": "digits", "data": {"image": {"channels": 1}}}))
    name = "digits"
    <BLANKLINE>
    [data.image]
    channels = 1
    """
    return "\n".join(_lines(table, ())).strip("\n")


def value(item: Any) -> str:
    """Writes one value on one line.

    >>> value(["a", 1.5, True, {"b": 2}])
    '["a", 1.5, true, { b = 2 }]'
    """
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item)
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, list | tuple):
        return f"[{', '.join(value(member) for member in item)}]"
    if isinstance(item, Mapping):
        pairs = ", ".join(f"{_key(key)} = {value(member)}" for key, member in item.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"TOML has no form for this value. Received: {item!r}.")


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    tables = {key: item for key, item in table.items() if isinstance(item, Mapping)}
    plain = {key: item for key, item in table.items() if key not in tables}
    # A table that holds only tables needs no heading: theirs implies it.
    if path and (plain or not tables):
        yield f"\n[{'.'.join(_key(part) for part in path)}]"
    for key, item in plain.items():
        yield f"{_key(key)} = {value(item)}"
    for key, item in tables.items():
        yield from _lines(item, (*path, key))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON escapes are TOML escapes, but for DEL, which JSON leaves bare, and for surrogate pairs,
    # which it writes for characters beyond the basic plane unless they stay as they are.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
