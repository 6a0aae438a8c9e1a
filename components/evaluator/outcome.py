"""What an evaluation found, as plain data beside TFMA's own files.

Legend: K classes; the first axis of `confusion_KK` is the true class, the second the predicted one;
T steps of the past, H numbers of a target.
"""

import dataclasses
import json
import pathlib
from typing import Any, ClassVar, Literal

FILE_NAME = "outcome.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure:
    """A threshold that the model missed.

    Attributes:
        metric: Such as `accuracy`.
        label: The class whose slice it is, or None for all examples.
        kind: `value` for a bound on the metric itself, `change` for one against the latest blessed
            model: metric minus its metric for accuracy, and the relative rise for an error;
            `reference` for the gain against a model of another kind.
        value: What was measured.
        bound: What it should have reached at least, or at most if it is an error.
    """

    metric: str
    label: int | None
    kind: Literal["value", "change", "reference"]
    value: float
    bound: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """A model of another kind on the same test examples.

    Attributes:
        name: What it is, in the plural, such as "boosted trees".
        advice: What to do if it is better: a sentence.
        metric: What is compared: `accuracy`, or `mae` of numbers.
        value: Its accuracy or mean absolute error.
        gain: How much better the model is; negative if it is worse.
        interval: Ends of the gain's 95% confidence interval, from paired examples; None for fewer
            than 10.
        num_train: Rows of training that it learned from.
    """

    name: str
    advice: str
    metric: Literal["accuracy", "mae"]
    value: float
    gain: float
    interval: tuple[float, float] | None
    num_train: int

    def verdict(self) -> Literal["better", "worse", "alike"]:
        """Returns what the model is beside it; alike if the test examples cannot tell."""
        low, high = self.interval or (self.gain, self.gain)
        if low <= 0.0 <= high:
            return "alike"
        return "better" if self.gain > 0.0 else "worse"

    def sentence(self) -> str:
        """Says how the two compare and what follows."""
        names = {"accuracy": "an accuracy", "mae": "a mean error"}
        between = (
            f" (95% interval {self.interval[0]:.4g} to {self.interval[1]:.4g})"
            if self.interval
            else ""
        )
        start = (
            f"{self.name.capitalize()} from scikit-learn, on the same rows, have "
            f"{names[self.metric]} of {self.value:.6g}"
        )
        verdict = self.verdict()
        if verdict == "worse":
            return f"{start}: the model is worse by {-self.gain:.4g}{between}. {self.advice}"
        if verdict == "better":
            return f"{start}: the model is better by {self.gain:.4g}{between}."
        return (
            f"{start}: the model's gain of {self.gain:.4g}{between} may be chance. They are "
            "simpler and quicker."
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationOutcome:
    """What an evaluation of a classifier on the test split found.

    Attributes:
        blessed: True if no threshold was missed.
        num_examples: Number of test examples.
        metrics: Metric name (`accuracy`, `loss`) -> value over all examples.
        baseline_metrics: The same for the latest blessed model, or None if there is none.
        class_accuracy: Accuracy on the examples of each class, by label.
        class_num_examples: Number of test examples of each class, by label.
        confusion_KK: Number of examples for each true and predicted class.
        failures: The thresholds that were missed.
        comparison: The model beside a simple learner, where there is one.
    """

    predicts: ClassVar[str] = "classes"
    blessed: bool
    num_examples: int
    metrics: dict[str, float]
    baseline_metrics: dict[str, float] | None
    class_accuracy: tuple[float, ...]
    class_num_examples: tuple[int, ...]
    confusion_KK: tuple[tuple[int, ...], ...]
    failures: tuple[Failure, ...]
    comparison: Comparison | None = None

    def worst_class(self) -> int:
        """Returns the label of the class with the lowest accuracy."""
        return min(range(len(self.class_accuracy)), key=self.class_accuracy.__getitem__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    """One test example as a picture shows it.

    Attributes:
        quantile: Share of the test examples with a smaller error, in [0, 1].
        history_T: The value of the past of a series; empty for a table.
        target_H: What was to be predicted.
        prediction_H: What the model predicted.
        simple_H: What the simple forecast says.
    """

    quantile: float
    history_T: tuple[float, ...]
    target_H: tuple[float, ...]
    prediction_H: tuple[float, ...]
    simple_H: tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NumbersOutcome:
    """What an evaluation of a model of numbers on the test split found.

    Errors are in the target's own unit.

    Attributes:
        blessed: True if no threshold was missed.
        num_examples: Number of test examples.
        metrics: `mae`, `rmse`, `skill` (1 - mae / that of the simple forecast), and, for a series,
            `mase` (mae / that of the one-period forecast on the training split).
        intervals: Metric -> ends of its 95% confidence interval; empty for too few examples.
        simple_name: What the simple forecast is.
        simple_metrics: Its `mae` and `rmse`.
        baseline_metrics: Those of the latest blessed model, or None if there is none to compare.
        step_mae_H: Mean absolute error of each number of the target.
        simple_step_mae_H: That of the simple forecast.
        samples: Test examples from small errors to large ones.
        pairs: (target, prediction) of single numbers, evenly from the test split; empty for series.
        failures: The thresholds that were missed.
        comparison: The model beside a simple learner, where there is one.
    """

    predicts: ClassVar[str] = "numbers"
    blessed: bool
    num_examples: int
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    simple_name: str
    simple_metrics: dict[str, float]
    baseline_metrics: dict[str, float] | None
    step_mae_H: tuple[float, ...]
    simple_step_mae_H: tuple[float, ...]
    samples: tuple[Sample, ...]
    pairs: tuple[tuple[float, float], ...]
    failures: tuple[Failure, ...]
    comparison: Comparison | None = None


AnyOutcome = EvaluationOutcome | NumbersOutcome


def write(outcome: AnyOutcome, folder: str | pathlib.Path) -> None:
    """Writes `outcome.json` into `folder`, which must exist."""
    values = {"predicts": outcome.predicts, **dataclasses.asdict(outcome)}
    pathlib.Path(folder, FILE_NAME).write_text(json.dumps(values, indent=1) + "\n")


def read(folder: str | pathlib.Path) -> AnyOutcome:
    """Reads what `write` wrote.

    Raises:
        FileNotFoundError: If `folder` holds no outcome.
    """
    values: dict[str, Any] = json.loads(pathlib.Path(folder, FILE_NAME).read_text())
    predicts = values.pop("predicts")
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    values["comparison"] = _read_comparison(values.get("comparison"))
    return _read_numbers(values) if predicts == "numbers" else _read_classes(values)


def _read_classes(values: dict[str, Any]) -> EvaluationOutcome:
    values["confusion_KK"] = tuple(tuple(row_K) for row_K in values["confusion_KK"])
    for name in ("class_accuracy", "class_num_examples"):
        values[name] = tuple(values[name])
    return EvaluationOutcome(**values)


def _read_numbers(values: dict[str, Any]) -> NumbersOutcome:
    values["intervals"] = {name: (low, high) for name, (low, high) in values["intervals"].items()}
    values["pairs"] = tuple((target, prediction) for target, prediction in values["pairs"])
    values["samples"] = tuple(_read_sample(sample) for sample in values["samples"])
    for name in ("step_mae_H", "simple_step_mae_H"):
        values[name] = tuple(values[name])
    return NumbersOutcome(**values)


def _read_comparison(values: dict[str, Any] | None) -> Comparison | None:
    if values is None:
        return None
    interval = values.pop("interval")
    return Comparison(**values, interval=None if interval is None else (interval[0], interval[1]))


def _read_sample(values: dict[str, Any]) -> Sample:
    for name in ("history_T", "target_H", "prediction_H", "simple_H"):
        values[name] = tuple(values[name])
    return Sample(**values)
