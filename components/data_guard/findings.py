"""What the guard found: a name, how much, what the limit is, examples, and the cure."""

import dataclasses
from typing import Any, Literal

from components.data_guard.config import FindingName

# The limit of a finding that never stops a run.
NEVER = 1.0
MAX_EXAMPLES = 3

Severity = Literal["stop", "warning", "note"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        name: The name by which a recipe accepts it.
        amount: A share, a distance or an accuracy, in [0, 1].
        limit: Above it the finding stops the run; NEVER for findings that only inform.
        sentence: What was found, with its count.
        examples: Keys of rows, in groups that belong together.
        cure: What to do about it.
        columns: The columns that a recipe would leave out for it.
    """

    name: FindingName
    amount: float
    limit: float
    sentence: str
    examples: tuple[tuple[str, ...], ...] = ()
    cure: str = ""
    columns: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        """True if it is above its limit."""
        return self.amount > self.limit

    @property
    def severity(self) -> Severity:
        """ "stop" above the limit, "warning" below it, "note" if there is none."""
        if self.stops:
            return "stop"
        return "note" if self.limit >= NEVER else "warning"

    def to_dict(self) -> dict[str, Any]:
        """Returns the finding as data that JSON can hold."""
        return {**dataclasses.asdict(self), "severity": self.severity}


def counted(number: int, thing: str) -> str:
    """Returns the beginning of a sentence about a number of things.

    >>> counted(1, "row"), counted(22, "row")
    ('1 row', '22 rows')
    """
    return f"{number} {thing}{'s' * (number != 1)}"


def are(number: int) -> str:
    """Returns the verb that goes with a number."""
    return "is" if number == 1 else "are"
