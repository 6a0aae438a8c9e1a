"""Renders the report of a run as one HTML page that needs nothing else."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from components.evaluator import outcome
from components.report import figures, number_figures

FILE_NAME = "report.html"
_TITLES = {
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "skill": "skill",
    "mase": "MASE",
}


def render(
    recipe: Mapping[str, Any],
    found: outcome.AnyOutcome,
    *,
    class_counts: Mapping[str, Sequence[int]],
    data_findings: Sequence[Mapping[str, Any]],
    epochs: Sequence[Mapping[str, Any]],
    how_trained: str,
) -> str:
    """Returns the page.

    Args:
        recipe: The resolved recipe as plain data.
        found: What the evaluation found.
        class_counts: Split name -> number of examples of each class, by label; empty for numbers.
        data_findings: What the data guard found, as its findings say.
        epochs: For each epoch, metric name -> value.
        how_trained: Precision, replicas and execution, in words.
    """
    if isinstance(found, outcome.NumbersOutcome):
        template, findings = "numbers.html", _number_findings(found)
    else:
        template, findings = "classes.html", _class_findings(recipe, found, class_counts)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FunctionLoader(_template)
    )
    return environment.get_template(template).render(
        recipe=recipe,
        recipe_json=json.dumps(recipe, indent=1),
        outcome=found,
        verdict=_verdict(found),
        data_findings=data_findings,
        learning_svg=figures.learning_curves(epochs),
        how_trained=how_trained,
        input_wait=input_wait(epochs),
        **findings,
    )


def input_wait(epochs: Sequence[Mapping[str, Any]]) -> float:
    """Returns the share of the training's time in which a step waited for its batch.

    Args:
        epochs: For each epoch, `wait_share` and `seconds` among its values.

    >>> input_wait([{"wait_share": 0.1, "seconds": 3.0}, {"wait_share": 0.0, "seconds": 1.0}])
    0.075
    """
    seconds = sum(epoch["seconds"] for epoch in epochs)
    waited = sum(epoch["wait_share"] * epoch["seconds"] for epoch in epochs)
    return float(round(waited / max(seconds, 1e-9), 6))


def _template(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text()


def _verdict(found: outcome.AnyOutcome) -> str:
    if found.blessed:
        return "The model met every threshold."
    return f"The model missed {len(found.failures)} threshold(s) and is not published."


def _class_findings(
    recipe: Mapping[str, Any],
    found: outcome.EvaluationOutcome,
    class_counts: Mapping[str, Sequence[int]],
) -> dict[str, Any]:
    class_names = recipe["data"]["label"]["class_names"]
    return {
        "classes": _class_rows(found, class_names, class_counts["train"]),
        "simple": _most_frequent(found, class_names, class_counts["train"]),
        "confusion_svg": figures.confusion_matrix(found.confusion_KK, class_names),
    }


def _most_frequent(
    found: outcome.EvaluationOutcome, class_names: Sequence[str], num_train: Sequence[int]
) -> dict[str, Any]:
    """The simplest classifier: the class that the training split has most of, whatever is asked."""
    label = max(range(len(num_train)), key=num_train.__getitem__)
    share = found.class_num_examples[label] / found.num_examples
    return {"name": class_names[label], "accuracy": share}


def _class_rows(
    found: outcome.EvaluationOutcome, class_names: Sequence[str], num_train: Sequence[int]
) -> list[dict[str, Any]]:
    rows = [
        {
            "name": class_names[label],
            "accuracy": accuracy,
            "num_test": found.class_num_examples[label],
            "num_train": num_train[label],
        }
        for label, accuracy in enumerate(found.class_accuracy)
    ]
    return sorted(rows, key=lambda row: row["accuracy"])


def _number_findings(found: outcome.NumbersOutcome) -> dict[str, Any]:
    forecasts, steps, pairs = "", "", ""
    if found.samples:
        forecasts = number_figures.forecasts(found.samples, simple_name=found.simple_name)
        steps = number_figures.errors_by_step(found)
    if found.pairs:
        pairs = number_figures.predictions_against_truth(found.pairs)
    return {
        "rows": [_metric_row(found, name) for name in found.metrics],
        "forecasts_svg": forecasts,
        "steps_svg": steps,
        "pairs_svg": pairs,
    }


def _metric_row(found: outcome.NumbersOutcome, name: str) -> dict[str, Any]:
    interval = found.intervals.get(name)
    baseline, simple = found.baseline_metrics, found.simple_metrics.get(name)
    return {
        "title": _TITLES[name],
        "value": _number(found.metrics[name]),
        "interval": "" if interval is None else " to ".join(map(_number, interval)),
        "baseline": "none" if baseline is None else _number(baseline[name]),
        "simple": "" if simple is None else _number(simple),
        "missed": name in {failure.metric for failure in found.failures},
    }


def _number(value: float) -> str:
    return f"{value:.5g}"
