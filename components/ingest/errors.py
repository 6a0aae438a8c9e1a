"""The errors of ingestion, each a sentence with what was expected, what was found, and the cure."""

import difflib
from collections.abc import Iterable


class DataError(ValueError):
    """The data cannot be used as the recipe describes it; nothing was written."""


class BadRecipeError(DataError):
    """The recipe asks for what does not exist or cannot be; only a change of the recipe helps."""


class RejectsError(DataError):
    """More rows cannot be used than the recipe allows."""


class EmptySplitError(DataError):
    """A split has no examples, or none of a class."""


class RowError(ValueError):
    """One row cannot be used; the message says why, the caller adds where it came from."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """Returns ` Did you mean ...?` with up to three similar names, or an empty string.

    >>> nearest("fashion_mnst", ["mnist", "fashion_mnist"])
    ' Did you mean "fashion_mnist"?'
    >>> nearest("xyz", ["mnist"])
    ''
    """
    similar = difflib.get_close_matches(name, list(choices), n=3, cutoff=0.75)
    if not similar:
        return ""
    return " Did you mean " + " or ".join(f'"{match}"' for match in similar) + "?"
