"""EvaluationOutcome: what an evaluation found, as plain data beside TFMA's own files.

Legend: K classes; the first axis of `confusion_KK` is the true class, the second the predicted one.
"""

import dataclasses
import json
import pathlib
from typing import Any, Literal

FILE_NAME = "outcome.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure:
    """A threshold that the model missed.

    Attributes:
        metric: Such as `accuracy`.
        label: The class whose slice it is, or None for all examples.
        kind: `value` for a bound on the metric itself, `change` for one on metric minus baseline's.
        value: What was measured, in [0, 1] for `value` and in [-1, 1] for `change`.
        bound: What it should have reached at least.
    """

    metric: str
    label: int | None
    kind: Literal["value", "change"]
    value: float
    bound: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationOutcome:
    """What an evaluation on the test split found.

    Attributes:
        blessed: True if no threshold was missed.
        num_examples: Number of test examples.
        metrics: Metric name (`accuracy`, `loss`) -> value over all examples.
        baseline_metrics: The same for the latest blessed model, or None if there is none.
        class_accuracy: Accuracy on the examples of each class, by label.
        class_num_examples: Number of test examples of each class, by label.
        confusion_KK: Number of examples for each true and predicted class.
        failures: The thresholds that were missed.
    """

    blessed: bool
    num_examples: int
    metrics: dict[str, float]
    baseline_metrics: dict[str, float] | None
    class_accuracy: tuple[float, ...]
    class_num_examples: tuple[int, ...]
    confusion_KK: tuple[tuple[int, ...], ...]
    failures: tuple[Failure, ...]

    def worst_class(self) -> int:
        """Returns the label of the class with the lowest accuracy."""
        return min(range(len(self.class_accuracy)), key=self.class_accuracy.__getitem__)


def write(outcome: EvaluationOutcome, folder: str | pathlib.Path) -> None:
    """Writes `outcome.json` into `folder`, which must exist."""
    text = json.dumps(dataclasses.asdict(outcome), indent=1) + "\n"
    pathlib.Path(folder, FILE_NAME).write_text(text)


def read(folder: str | pathlib.Path) -> EvaluationOutcome:
    """Reads what `write` wrote.

    Raises:
        FileNotFoundError: If `folder` holds no outcome.
    """
    values: dict[str, Any] = json.loads(pathlib.Path(folder, FILE_NAME).read_text())
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    values["confusion_KK"] = tuple(tuple(row_K) for row_K in values["confusion_KK"])
    for name in ("class_accuracy", "class_num_examples"):
        values[name] = tuple(values[name])
    return EvaluationOutcome(**values)
