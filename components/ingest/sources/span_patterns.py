"""Paths with {SPAN} and {VERSION}, as TFX's ExampleGens have them, and the choice of spans.

A span is a part of the data that arrives together, such as a day; of a span that was delivered
again, the newest version counts. {YYYY}, {MM} and {DD} name a span by its day, whose number is that
of the days since 1970.
"""

import datetime
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_SPEC = re.compile(r"\{(SPAN|VERSION|YYYY|MM|DD)(?::([1-9]\d*))?\}")
_DATE = ("YYYY", "MM", "DD")
_WIDTHS = {"YYYY": 4, "MM": 2, "DD": 2}
_FIRST_DAY = datetime.date(1970, 1, 1)
# Wildcards as parts of a regular expression.
_WILDCARD = re.compile(r"\*\*/|\*|\?|\[[^\]]+\]")


class Span(NamedTuple):
    """The span of a file, and which delivery of it the file belongs to."""

    number: int
    version: int = 0


def first_spec(pattern: str) -> int | None:
    """Returns where the first placeholder of a path begins, None if there is none."""
    found = _SPEC.search(pattern)
    return found.start() if found else None


def check(pattern: str) -> str:
    """Returns what is wrong with the placeholders of a path, empty if nothing is."""
    names = {found[1] for found in _SPEC.finditer(pattern)}
    dates = names & set(_DATE)
    if not names:
        return ""
    if dates and (len(dates) < len(_DATE) or "SPAN" in names):
        return "{YYYY}, {MM} and {DD} go together, and without {SPAN}"
    if not dates and "SPAN" not in names:
        return "{VERSION} goes with {SPAN}, or with {YYYY}, {MM} and {DD}"
    return ""


def wildcards(pattern: str) -> str:
    """Returns a path with wildcards in place of its placeholders.

    >>> wildcards("/trips/span-{SPAN}/day-{DD}.csv")
    '/trips/span-*/day-*.csv'
    """
    return _SPEC.sub("*", pattern)


def span_of(path: str, pattern: str) -> Span | None:
    """Returns the span of a file that a path names, None if it is none of the path's.

    >>> span_of("/trips/span-12/v3/a.csv", "/trips/span-{SPAN}/v{VERSION}/*.csv")
    Span(number=12, version=3)
    """
    found = re.fullmatch(_expression(pattern), path)
    if found is None:
        return None
    words = found.groupdict()
    version = int(words.get("VERSION") or 0)
    if "SPAN" in words:
        return Span(int(words["SPAN"]), version)
    try:
        day = datetime.date(*(int(words[name]) for name in _DATE))
    except ValueError:
        return None
    return Span((day - _FIRST_DAY).days, version)


def _expression(pattern: str) -> str:
    parts, end, named = [], 0, set()
    for spec in _SPEC.finditer(pattern):
        parts.append(_literal(pattern[end : spec.start()]))
        name, width = spec[1], spec[2] or _WIDTHS.get(spec[1])
        digits = rf"\d{{{width}}}" if width else r"\d+"
        parts.append(f"(?P={name})" if name in named else f"(?P<{name}>{digits})")
        named.add(name)
        end = spec.end()
    return "".join([*parts, _literal(pattern[end:])])


def _literal(text: str) -> str:
    parts, end = [], 0
    for found in _WILDCARD.finditer(text):
        parts.append(re.escape(text[end : found.start()]))
        wildcard = found[0]
        known = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "?": "[^/]"}
        parts.append(known.get(wildcard) or wildcard.replace("[!", "[^", 1))
        end = found.end()
    return "".join([*parts, re.escape(text[end:])])


def number_of(span: int | str) -> int:
    """Returns the number of a span that a recipe names by it, or by its day.

    >>> number_of("1970-01-11")
    10
    """
    if isinstance(span, int):
        return span
    return (datetime.date.fromisoformat(span) - _FIRST_DAY).days


def newest_versions(spans: Iterable[Span]) -> dict[int, int]:
    """Returns the newest version of each span, in the order of the spans."""
    versions: dict[int, int] = {}
    for number, version in sorted(spans):
        versions[number] = version
    return versions


def chosen(
    versions: Mapping[int, int],
    *,
    newest: int | None,
    skip_newest: int,
    first: int | None,
    last: int | None,
) -> set[Span]:
    """Returns the spans that a recipe chooses among those that there are."""
    numbers = [
        number
        for number in versions
        if (first is None or number >= first) and (last is None or number <= last)
    ]
    numbers = numbers[: len(numbers) - skip_newest]
    if newest is not None:
        numbers = numbers[-newest:]
    return {Span(number, versions[number]) for number in numbers}
