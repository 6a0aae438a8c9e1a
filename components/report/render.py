"""Renders the report of a run as one HTML page that needs nothing else."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from components.evaluator import outcome
from components.report import figures

FILE_NAME = "report.html"


def render(
    recipe: Mapping[str, Any],
    found: outcome.EvaluationOutcome,
    *,
    class_counts: Mapping[str, Sequence[int]],
    epochs: Sequence[Mapping[str, Any]],
) -> str:
    """Returns the page.

    Args:
        recipe: The resolved recipe as plain data.
        found: What the evaluation found.
        class_counts: Split name -> number of examples of each class, by label.
        epochs: For each epoch, metric name -> value.
    """
    class_names = recipe["data"]["label"]["class_names"]
    template_text = importlib.resources.files(__package__).joinpath("template.html").read_text()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(template_text).render(
        recipe=recipe,
        recipe_json=json.dumps(recipe, indent=1),
        outcome=found,
        verdict=_verdict(found),
        classes=_class_rows(found, class_names, class_counts["train"]),
        confusion_svg=figures.confusion_matrix(found.confusion_KK, class_names),
        learning_svg=figures.learning_curves(epochs),
    )


def _verdict(found: outcome.EvaluationOutcome) -> str:
    if found.blessed:
        return "The model met every threshold."
    return f"The model missed {len(found.failures)} threshold(s) and is not published."


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
