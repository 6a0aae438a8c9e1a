"""What a user asks a model on the command line, as the tensors of a signature.

Importing this module does not import TensorFlow.
"""

import dataclasses
import json
import math
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from components.ingest import errors
from components.ingest.features.config import SequenceColumn, TableFeature
from serving.export import image_files

DEFAULT_SIGNATURE, FILE_SIGNATURE = "serving_default", "serve_bytes"
# Kind of input -> the option that asks a model of it.
OPTIONS = {
    "image": "--image",
    "audio": "--audio",
    "text": "--text",
    "table": "--row",
    "series": "--row",
}


class PredictionError(ValueError):
    """The model or a question cannot be used; the message says why and what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """One example to ask about.

    Attributes:
        option: The option that named it, such as `--image`.
        given: What the user wrote after it.
        signature: The signature that takes it.
        values: Input of the signature -> the value of this one example.
    """

    option: str
    given: str
    signature: str
    values: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The option's name without its dashes."""
        return self.option.lstrip("-")


def make(option: str, given: str, facts: Mapping[str, Any]) -> Question:
    """Reads what the user gave.

    Args:
        option: A value of `OPTIONS`.
        given: A file, a text, or a row as JSON, or `@` and a file that holds such a row.
        facts: The model's manifest.

    Raises:
        PredictionError: If the model takes another kind of input, a file cannot be read, or a row
            does not have the model's columns.
    """
    data = (facts.get("recipe") or {}).get("data", {})
    kind = next((kind for kind in OPTIONS if kind in data), None)
    if kind is not None and OPTIONS[kind] != option:
        raise PredictionError(
            f"The model reads {kind}, which {OPTIONS[kind]} gives it. Received: {option} "
            f"{given}. Ask it with {OPTIONS[kind]}."
        )
    signature, read = _READERS[option]
    values = read(given, facts)
    return Question(option=option, given=given, signature=signature, values=values)


def _read_image(given: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    formats = f"a {image_files.FORMATS} file"
    content = _read_file(given, "--image", image_files.is_image, formats=formats)
    return {"image_bytes": content}


def _read_recording(given: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"audio_bytes": _read_file(given, "--audio", _is_recording, formats="a WAV file")}


def _is_recording(content: bytes) -> bool:
    # WebP images begin with RIFF too.
    return content[:4] == b"RIFF" and content[8:12] == b"WAVE"


def _read_text(given: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": given.encode()}


def _read_file(
    given: str, option: str, is_right: Callable[[bytes], bool], *, formats: str
) -> bytes:
    try:
        content = pathlib.Path(given).read_bytes()
    except OSError as error:
        raise PredictionError(
            f"The file cannot be read: {error.strerror}. Received: {option} {given}."
        ) from None
    if not is_right(content):
        raise PredictionError(
            f"Expected {formats}. Received: {option} {given}, which "
            f"{'is empty' if not content else f'begins with {content[:4]!r}'}."
        )
    return content


def _read_row(given: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    row = _parse_row(given)
    inputs: Mapping[str, str] = facts.get("inputs", {})
    table = (facts.get("recipe") or {}).get("data", {}).get("table")
    served = TableFeature.from_dict(table).served_names() if table else {}
    names = {**{name: name for name in inputs}, **served}
    for name in row:
        if name not in names:
            raise PredictionError(
                f"The model has no column {name!r}.{errors.nearest(name, names)} "
                f"Received: --row {given}. Its columns are: {', '.join(served or inputs)}."
            )
    lists = TableFeature.from_dict(table).sequences() if table else {}
    values = {
        names[name]: _value(name, value, inputs[names[name]])
        for name, value in row.items()
        if name not in lists
    }
    for name, column in lists.items():
        values[names[name]] = _list_value(name, row.get(name), column)
    missing = {name: math.nan if kind == "float32" else "" for name, kind in inputs.items()}
    return {**missing, **values} if table else values


def _list_value(name: str, value: Any, column: SequenceColumn) -> Any:
    """Returns a list as the model takes it: NaN where a number is missing, and padded if it may be.

    Of another length, it is left as it is, for the model to refuse.
    """
    steps = [] if value is None else value
    if not isinstance(steps, list):
        raise PredictionError(
            f"Column {name!r} holds lists of {column.length} steps. Received: {value!r}. Write a "
            "list of numbers, with null for a missing one."
        )
    missing = math.nan if column.channels == 1 else [math.nan] * column.channels
    if column.any_length or not steps:
        steps = [*steps[: column.length], *[missing] * (column.length - len(steps))]
    return [_without_null(step) for step in steps]


def _without_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_null(each) for each in value]
    return math.nan if value is None else value


def _row_text(given: str) -> str:
    """Returns the row, or, as curl does it, what the file after an @ holds."""
    if not given.startswith("@"):
        return given
    try:
        return pathlib.Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise PredictionError(
            f"The file cannot be read: {reason}. Received: --row {given}."
        ) from None


def _parse_row(given: str) -> dict[str, Any]:
    try:
        row = json.loads(_row_text(given))
    except ValueError as error:
        raise PredictionError(f"A row must be JSON: {error}. Received: --row {given}.") from None
    if not isinstance(row, dict):
        raise PredictionError(
            "A row must be a JSON object of columns and values, such as "
            f'{{"miles": 2.5, "day": "monday"}}. Received: --row {given}.'
        )
    return row


def _value(name: str, value: Any, dtype: str) -> Any:
    if dtype != "float32":
        # A category may look like a number, such as an hour.
        return "" if value is None else str(value)
    if value is None:
        return math.nan
    if isinstance(value, list):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PredictionError(
            f"Column {name!r} holds numbers. Received: {value!r}. Write a number, or null if it is "
            "missing."
        )
    return float(value)


_Reader = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_READERS: dict[str, tuple[str, _Reader]] = {
    "--image": (FILE_SIGNATURE, _read_image),
    "--audio": (FILE_SIGNATURE, _read_recording),
    "--text": (DEFAULT_SIGNATURE, _read_text),
    "--row": (DEFAULT_SIGNATURE, _read_row),
}
