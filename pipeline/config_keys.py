"""Finds keys of config classes by their path, and says in words what each accepts."""

import difflib
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import annotated_types
import pydantic
from pydantic.fields import FieldInfo

from pipeline import toml_text

ConfigClass = type[pydantic.BaseModel]

_BOUNDS: tuple[tuple[type, str, str], ...] = (
    (annotated_types.Gt, "gt", "greater than"),
    (annotated_types.Ge, "ge", "at least"),
    (annotated_types.Lt, "lt", "less than"),
    (annotated_types.Le, "le", "at most"),
)
_NOUNS = {
    bool: ("true or false", "true or false values"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a text in quotes", "texts in quotes"),
}


class Slot(typing.NamedTuple):
    """The place of one value in a config: its key and the type it must have.

    Attributes:
        key: Dotted key, such as `data.label.class_names[3]`.
        annotation: The type, or None where the config has no such key.
        constraints: Bounds on the value.
        section: The config class that holds the key.
    """

    key: str
    annotation: Any
    constraints: tuple[Any, ...]
    section: ConfigClass | None


def find(config_class: ConfigClass, location: Sequence[str | int]) -> Slot:
    """Follows a pydantic error location, which also names the chosen members of unions."""
    slot = Slot("", config_class, (), None)
    for part in location:
        slot = _step(slot, part)
    return slot


def describe(annotation: Any, constraints: Sequence[Any] = ()) -> str:
    """Says what a key accepts, such as `a whole number greater than 0`."""
    annotation, constraints = _unwrap(annotation, constraints)
    if alternatives := _alternatives(annotation):
        return " or ".join(describe(alternative) for alternative in alternatives)
    if typing.get_origin(annotation) is Literal:
        return choices_text(choices(annotation))
    if typing.get_origin(annotation) is tuple:
        return _describe_list(typing.get_args(annotation)[0], constraints)
    if annotation in _NOUNS:
        return _NOUNS[annotation][0] + _bounds_text(constraints)
    return "a table of keys"


def choices(annotation: Any, constraints: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The values that a key accepts by name; empty for a key without such values."""
    annotation, _ = _unwrap(annotation, constraints)
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    return tuple(item for inner in _alternatives(annotation) for item in choices(inner))


def choices_text(valid: Sequence[Any]) -> str:
    """Lists valid values, such as `one of "adamw", "sgd"`."""
    words = ", ".join(toml_text.value(item) for item in valid)
    return words if len(valid) == 1 else f"one of {words}"


def leaf_keys(config_class: ConfigClass) -> tuple[str, ...]:
    """All dotted keys of a config that hold a value, over all members of its unions."""
    return tuple(dict.fromkeys(_leaves(config_class, "")))


def nearest(word: str, valid: Sequence[str]) -> str | None:
    """The valid word most like `word`, or None if none is near.

    >>> nearest("fashion_mnsit", ["digits", "fashion_mnist"])
    'fashion_mnist'
    """
    lower = {item.lower(): item for item in valid}
    found = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


def nearest_key(key: str, config_class: ConfigClass) -> str | None:
    """The valid dotted key most like `key`: first by the whole path, then by its last part."""
    valid = leaf_keys(config_class)
    section, _, last = key.rpartition(".")
    prefix = f"{section}." if section else ""
    siblings = [
        item.removeprefix(prefix).split(".")[0] for item in valid if item.startswith(prefix)
    ]
    found = nearest(last, siblings)
    if found:
        return f"{prefix}{found}"
    by_last = {item.rpartition(".")[2]: item for item in reversed(valid)}
    found = nearest(last, list(by_last))
    return by_last[found] if found else nearest(key, valid)


def members(annotation: Any) -> dict[Any, ConfigClass]:
    """The members of a tagged union: the value of the tag -> the config class."""
    key = tag_key(annotation)
    classes = (
        [member for member in typing.get_args(annotation) if _is_config(member)] if key else []
    )
    return {
        tag: member
        for member in classes
        for tag in typing.get_args(member.model_fields[key].annotation)
    }


def tag_key(annotation: Any) -> str:
    """The key by which a tagged union chooses its member; empty for any other type."""
    for member in typing.get_args(annotation):
        if _is_config(member):
            for name, field in member.model_fields.items():
                if field.is_required() and typing.get_origin(field.annotation) is Literal:
                    return name
    return ""


def _step(slot: Slot, part: str | int) -> Slot:
    annotation, _ = _unwrap(slot.annotation, slot.constraints)
    if isinstance(part, int) and typing.get_origin(annotation) is tuple:
        item = typing.get_args(annotation)[0]
        return Slot(f"{slot.key}[{part}]", item, (), slot.section)
    if not _is_config(annotation) and part in (union := members(annotation)):
        # The location names the union's chosen member; the key does not.
        return Slot(slot.key, union[part], (), slot.section)
    if _alternatives(annotation):
        # The location names the alternative that did not fit.
        return slot
    if typing.get_origin(annotation) is dict:
        return Slot(f"{slot.key}.{part}", typing.get_args(annotation)[1], (), slot.section)
    key = f"{slot.key}.{part}" if slot.key else str(part)
    if not _is_config(annotation):
        return Slot(key, None, (), None)
    field = annotation.model_fields.get(str(part))
    if field is None:
        return Slot(key, None, (), annotation)
    return Slot(key, field.annotation, tuple(field.metadata), annotation)


def _unwrap(annotation: Any, constraints: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Strips Annotated and an optional None, and collects the bounds they carried."""
    found = list(constraints)
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *extras = typing.get_args(annotation)
            for extra in extras:
                found += extra.metadata if isinstance(extra, FieldInfo) else [extra]
            continue
        if typing.get_origin(annotation) in (types.UnionType, typing.Union):
            present = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
            if len(present) == 1:
                annotation = present[0]
                continue
        return annotation, tuple(found)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types of a union of plain values, such as a number or "auto"; empty for other types."""
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union) or tag_key(annotation):
        return ()
    return tuple(arg for arg in typing.get_args(annotation) if arg is not type(None))


def _describe_list(item: Any, constraints: Sequence[Any]) -> str:
    item, item_constraints = _unwrap(item, ())
    noun = _NOUNS[item][1] if item in _NOUNS else "tables"
    text = f"{noun}, each {bounds}" if (bounds := _bounds_text(item_constraints).strip()) else noun
    lengths = [extra for extra in constraints if isinstance(extra, annotated_types.MinLen)]
    return f"a list of {text}" + (f", at least {lengths[0].min_length} of them" if lengths else "")


def _bounds_text(constraints: Sequence[Any]) -> str:
    texts = [
        f"{words} {_number_text(getattr(extra, attribute))}"
        for extra in constraints
        for kind, attribute, words in _BOUNDS
        if isinstance(extra, kind)
    ]
    texts += [
        f"of at least {extra.min_length} characters"
        for extra in constraints
        if isinstance(extra, annotated_types.MinLen)
    ]
    return f" {' and '.join(texts)}" if texts else ""


def _number_text(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def _is_config(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel)


def _leaves(annotation: Any, prefix: str) -> Iterator[str]:
    annotation, _ = _unwrap(annotation, ())
    classes = [annotation] if _is_config(annotation) else list(members(annotation).values())
    if not classes:
        yield prefix
    for config_class in classes:
        for name, field in config_class.model_fields.items():
            yield from _leaves(field.annotation, f"{prefix}.{name}" if prefix else name)
