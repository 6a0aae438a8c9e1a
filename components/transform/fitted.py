"""What was learned of a training split, as plain data: equal data give an equal file."""

import hashlib
import json
import pathlib
from typing import Annotated, Literal

import pydantic

from models.base_config import StrictConfig

FILE_NAME = "transform.json"


class NumberStatistics(StrictConfig):
    """Of a column of numbers, missing ones left out."""

    mean: float
    # 1 where all numbers are equal.
    deviation: Annotated[float, pydantic.Field(gt=0.0)]


class FittedText(StrictConfig):
    """The words of a text; the id of a word is its place and two, after padding and unknown."""

    kind: Literal["text"] = "text"
    words: tuple[str, ...]


class FittedSequence(StrictConfig):
    """Of a column of lists: the steps that each is brought to, and what each channel has."""

    length: Annotated[int, pydantic.Field(gt=0)]
    channels: tuple[NumberStatistics, ...]


class FittedTable(StrictConfig):
    """Of each column, in the recipe's order, what turns its values into numbers or ids.

    The id of a category is its place and two, after missing and other.
    """

    kind: Literal["table"] = "table"
    numbers: dict[str, NumberStatistics]
    categories: dict[str, tuple[str, ...]]
    sequences: dict[str, FittedSequence] = {}


AnyFitted = FittedText | FittedTable
Fitted = Annotated[AnyFitted, pydantic.Field(discriminator="kind")]
_ADAPTER: pydantic.TypeAdapter[AnyFitted] = pydantic.TypeAdapter(Fitted)


def to_json(fitted: AnyFitted) -> str:
    """Returns the text of the file."""
    return json.dumps(fitted.to_dict(), indent=1) + "\n"


def digest(fitted: AnyFitted) -> str:
    """Returns the SHA-256 of the file, in hex."""
    return hashlib.sha256(to_json(fitted).encode()).hexdigest()


def write(fitted: AnyFitted, folder: pathlib.Path) -> None:
    """Writes `transform.json` into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE_NAME).write_text(to_json(fitted), encoding="utf-8")


def read_if_there(folder: pathlib.Path) -> AnyFitted | None:
    """Reads what `write` wrote, or returns None where an input needed nothing."""
    return read(folder) if (folder / FILE_NAME).is_file() else None


def read(folder: pathlib.Path) -> AnyFitted:
    """Reads what `write` wrote.

    Raises:
        FileNotFoundError: If the folder holds no such file.
        pydantic.ValidationError: If the file was changed.
    """
    return _ADAPTER.validate_json((folder / FILE_NAME).read_bytes())
