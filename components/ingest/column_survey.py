"""What a column of a table holds, by its values and its name, before there is a recipe."""

import dataclasses
import itertools
import re
from collections.abc import Mapping

import numpy as np
import pyarrow
import pyarrow.compute

from components.ingest import image_header
from components.ingest.sources import columns, sequences

_MAX_CATEGORY_SHARE = 0.5
_MIN_TEXT_CHARS = 25
_NUM_LOOKED_AT = 1000
# Whole numbers in columns of such names are codes: the distance of two of them means nothing.
_CODE = re.compile(
    "area|category|class|code|day|hour|id|kind|month|region|tract|type|weekday|zip|zone"
)
_MAX_CODES = 1000
_TIME = re.compile("at|created|date|datetime|time|timestamp|ts|updated")
# 1973 in seconds; smaller numbers are times of day, or durations.
_MIN_EPOCH_SECONDS = 100_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnSurvey:
    """What a column holds.

    "number", "category", "text", "time", "image", "constant", "id" if nearly all differ, "sequence"
    if lists of numbers, "other".
    """

    kind: str
    counts: Mapping[str, int]  # Rows of each value, the most frequent first; none is left out.


def survey_column(name: str, array: pyarrow.Array) -> ColumnSurvey:
    """Looks at all values of a column.

    Args:
        name: Its name, which tells codes and times from other numbers.
        array: Its values.
    """
    if sequences.is_list_of_numbers(array):
        return ColumnSurvey(kind="sequence", counts={})
    if pyarrow.types.is_nested(array.type) or pyarrow.types.is_null(array.type):
        return ColumnSurvey(kind="other", counts={})
    if pyarrow.types.is_binary(array.type):
        starts = pyarrow.compute.binary_slice(array.drop_null(), 0, image_header.MAGIC_BYTES)
        is_image = any(map(image_header.is_image, starts.to_pylist()))
        return ColumnSurvey(kind="image" if is_image else "other", counts={})
    texts = columns.texts(name, array, columns.Problems())
    texts = texts.filter(pyarrow.compute.not_equal(texts, ""))
    counted = texts.value_counts().to_pylist()
    counts = {item["values"]: item["counts"] for item in counted if item["values"] is not None}
    counts = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return ColumnSurvey(kind=_kind(name, array, counts), counts=counts)


def _kind(name: str, array: pyarrow.Array, counts: Mapping[str, int]) -> str:
    num_rows = sum(counts.values())
    if len(counts) < 2:
        return "constant"
    if pyarrow.types.is_temporal(array.type) or _are_times(name, array):
        return "time"
    is_unlike = len(counts) > _MAX_CATEGORY_SHARE * num_rows
    problems = columns.Problems()
    numbers = columns.numbers(name, array, problems)
    if not problems:
        return _kind_of_numbers(name, numbers.values_N[numbers.present_N], counts)
    if not is_unlike:
        return "category"
    sample = list(itertools.islice(counts, _NUM_LOOKED_AT))
    length = sum(map(len, sample)) / len(sample)
    has_words = sum(" " in text for text in sample) > len(sample) / 2
    return "text" if has_words and length >= _MIN_TEXT_CHARS else "id"


def _kind_of_numbers(name: str, values_N: np.ndarray, counts: Mapping[str, int]) -> str:
    num_rows = len(values_N)
    is_id = name.lower().endswith("id") or name.lower() in ("index", "rownames", "row")
    if is_id and len(counts) == num_rows:
        return "id"
    is_whole = bool((values_N == np.floor(values_N)).all())
    if is_whole and is_called(_TIME, name) and values_N.min() >= _MIN_EPOCH_SECONDS:
        return "time"
    is_code = is_whole and is_called(_CODE, name)
    is_few = len(counts) <= min(_MAX_CODES, _MAX_CATEGORY_SHARE * num_rows)
    return "category" if is_code and is_few else "number"


def _are_times(name: str, array: pyarrow.Array) -> bool:
    """Returns whether the first texts are dates or times in ISO 8601."""
    if not (pyarrow.types.is_string(array.type) or pyarrow.types.is_large_string(array.type)):
        return False
    texts = array.drop_null()
    first = texts.filter(pyarrow.compute.not_equal(texts, ""))[:_NUM_LOOKED_AT]
    if not len(first) or not pyarrow.compute.all(_has_date(first)).as_py():
        return False
    problems = columns.Problems()
    columns.seconds(name, first, problems)
    return not problems


def _has_date(texts: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.compute.match_substring_regex(texts, r"^\s*\d{4}-\d{2}-\d{2}")


def is_called(words: re.Pattern[str], name: str) -> bool:
    """Returns whether a column's name has one of some words.

    >>> words = re.compile("time|date")
    >>> is_called(words, "pickupTime_UTC"), is_called(words, "timeless")
    (True, False)
    """
    found = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return any(words.fullmatch(word) for word in found)
