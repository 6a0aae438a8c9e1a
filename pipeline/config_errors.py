"""Turns pydantic's validation errors into one sentence per fault: key, expected, received, cure."""

import typing
from collections.abc import Mapping
from typing import Any

import pydantic
from pydantic_core import ErrorDetails

from pipeline import config_keys, toml_text

# What pydantic appends to the location of a wrong key of a dict.
_DICT_KEY = "[key]"


class ConfigError(ValueError):
    """A recipe, an override or a run config is wrong; nothing was done.

    Attributes:
        subject: What is wrong, such as `recipe digits`.
        sentences: One sentence per fault.
    """

    def __init__(self, subject: str, sentences: list[str]):
        self.subject = subject
        self.sentences = sentences
        if len(sentences) == 1:
            super().__init__(f"{subject}: {sentences[0]}")
        else:
            lines = "".join(f"\n  - {sentence}" for sentence in sentences)
            super().__init__(f"{subject}: {len(sentences)} faults.{lines}")


def parse(
    config_class: type[pydantic.BaseModel], values: Mapping[str, Any], *, subject: str
) -> Any:
    """Builds a config from plain data.

    Args:
        config_class: A subclass of StrictConfig.
        values: Parsed TOML.
        subject: What the values are, for the error, such as `recipe digits`.

    Raises:
        ConfigError: If a key is unknown or missing, or a value is invalid.
    """
    foreign = list(_foreign_values(values, ""))
    if foreign:
        raise ConfigError(subject, foreign)
    try:
        return config_class.from_dict(values)  # type: ignore[attr-defined]
    except pydantic.ValidationError as error:
        details = _without_echoes(error.errors(include_url=False))
        # A value that fits no alternative of a union is one fault, told once per alternative.
        sentences = dict.fromkeys(_sentence(config_class, item) for item in details)
        raise ConfigError(subject, list(sentences)) from None


def _without_echoes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Drops the fault "list too short" of a list that is short only because an item is invalid."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(
            len(place) > len(detail["loc"]) and place[: len(detail["loc"])] == detail["loc"]
            for place in places
        )
    ]


def _foreign_values(item: Any, key: str) -> list[str]:
    """Faults for TOML dates and times, which no key accepts and JSON cannot carry."""
    if isinstance(item, Mapping):
        return [
            fault
            for name, member in item.items()
            for fault in _foreign_values(member, f"{key}.{name}" if key else name)
        ]
    if isinstance(item, list | tuple):
        pairs = enumerate(item)
        return [fault for i, member in pairs for fault in _foreign_values(member, f"{key}[{i}]")]
    if isinstance(item, str | int | float | bool):
        return []
    return [f"No key accepts a date or time. Received: {key} = {item}. Put it in quotes."]


def _sentence(config_class: type[pydantic.BaseModel], detail: ErrorDetails) -> str:
    kind = detail["type"]
    if detail["loc"][-1:] == (_DICT_KEY,):
        return _wrong_dict_key(config_class, detail)
    slot = config_keys.find(config_class, detail["loc"])
    if kind == "extra_forbidden":
        received = f"Received: {slot.key} = {_shown(detail['input'])}."
        return f"Unknown key {slot.key}. {received} {_key_cure(config_class, slot, detail['loc'])}"
    if kind == "missing":
        return f"Missing key {slot.key}. Give it {_expected(slot)}."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_tag(slot, detail)
    if kind == "value_error":
        fault = str(detail["ctx"]["error"])
        return f"[{slot.key}] {fault}" if slot.key else fault
    received = detail["input"]
    return (
        f"{slot.key} must be {_expected(slot)}. "
        f"Received: {slot.key} = {_shown(received)}.{_cure(slot, received)}"
    )


def _key_cure(
    config_class: type[pydantic.BaseModel], slot: config_keys.Slot, location: tuple[int | str, ...]
) -> str:
    owners = _owners(config_class, location)
    if owners:
        return f"It belongs to {owners} only. Remove it, or choose that."
    near = config_keys.nearest_key(slot.key, config_class)
    hint = f"Did you mean {near}? " if near else ""
    section = slot.key.rpartition(".")[0]
    place = f"[{section}]" if section else "the top level"
    fields = ", ".join(slot.section.model_fields) if slot.section else ""
    return f"{hint}Valid keys of {place}: {fields}."


def _owners(config_class: type[pydantic.BaseModel], location: tuple[int | str, ...]) -> str:
    """Names other members of a union that have the key, such as `model.architecture = "cnn"`."""
    union = config_keys.find(config_class, location[:-2])
    members = config_keys.members(union.annotation)
    owners = [tag for tag, member in members.items() if location[-1] in member.model_fields]
    if not owners:
        return ""
    tag_key = config_keys.tag_key(union.annotation)
    return f"{union.key}.{tag_key} = {' or '.join(toml_text.value(tag) for tag in owners)}"


def _wrong_dict_key(config_class: type[pydantic.BaseModel], detail: ErrorDetails) -> str:
    table = config_keys.find(config_class, detail["loc"][:-2])
    valid = config_keys.choices(typing.get_args(table.annotation)[0])
    received = detail["input"]
    near = config_keys.nearest(str(received), valid)
    hint = f" Did you mean {near}?" if near else ""
    return (
        f"Unknown key {table.key}.{received}.{hint} "
        f"Valid keys of [{table.key}]: {', '.join(valid)}."
    )


def _wrong_tag(slot: config_keys.Slot, detail: ErrorDetails) -> str:
    valid = list(config_keys.members(slot.annotation))
    tag = detail["ctx"]["discriminator"].strip("'")
    key = f"{slot.key}.{tag}"
    if detail["type"] == "union_tag_not_found":
        return f"Missing key {key}. Give it {config_keys.choices_text(valid)}."
    received = detail["input"].get(tag)
    return (
        f"{key} must be {config_keys.choices_text(valid)}. "
        f"Received: {key} = {_shown(received)}.{_nearest_choice(received, valid)}"
    )


def _expected(slot: config_keys.Slot) -> str:
    if slot.annotation is None:
        return "a valid value"
    return config_keys.describe(slot.annotation, slot.constraints)


def _cure(slot: config_keys.Slot, received: Any) -> str:
    expected = _expected(slot)
    valid = config_keys.choices(slot.annotation, slot.constraints)
    if valid and (isinstance(received, str) or expected == config_keys.choices_text(valid)):
        return _nearest_choice(received, valid)
    if expected.startswith("a list"):
        if isinstance(received, list | tuple):
            return " Add more of them."
        return f" Put it in brackets: {slot.key} = [{_shown(received)}]."
    if expected.startswith("a table"):
        return f" Write it as a table, under the heading [{slot.key}]."
    if expected.startswith("a text"):
        return " Write more." if isinstance(received, str) else " Put it in quotes."
    if isinstance(received, str):
        return " Write the value without quotes."
    return " Choose such a value."


def _nearest_choice(received: Any, valid: Any) -> str:
    near = config_keys.nearest(str(received), [str(item) for item in valid])
    matching = [item for item in valid if str(item) == near]
    if matching:
        return f" Did you mean {toml_text.value(matching[0])}?"
    return " Choose one of these." if len(valid) > 1 else ""


def _shown(received: Any) -> str:
    try:
        text = toml_text.value(received)
    except TypeError:
        text = repr(received)
    return text if len(text) <= 80 else f"{text[:77]}..."
