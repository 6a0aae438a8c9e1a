"""The report says what the evaluation found, and needs no other file."""

import pytest

from components.evaluator import outcome
from components.report import render

_RECIPE = {
    "name": "pets",
    "description": "Cats <and> dogs.",
    "data": {"label": {"class_names": ["cat", "dog"]}},
    "evaluation": {"min_class_accuracy": 0.8},
}
_FOUND = outcome.EvaluationOutcome(
    blessed=False,
    num_examples=100,
    metrics={"accuracy": 0.8125, "loss": 0.5},
    baseline_metrics={"accuracy": 0.75, "loss": 0.625},
    class_accuracy=(0.9, 0.725),
    class_num_examples=(50, 50),
    confusion_KK=((45, 5), (15, 35)),
    failures=(outcome.Failure(metric="accuracy", label=1, kind="value", value=0.7, bound=0.8),),
)
_EPOCHS = [
    {"epoch": 1, "loss": 0.9, "accuracy": 0.5, "val_loss": 1.0, "val_accuracy": 0.4},
    {"epoch": 2, "loss": 0.5, "accuracy": 0.7, "val_loss": 0.6, "val_accuracy": 0.6},
]


@pytest.fixture(scope="module")
def page():
    return render.render(_RECIPE, _FOUND, class_counts={"train": [300, 200]}, epochs=_EPOCHS)


def test_the_metrics_stand_beside_the_baseline(page):
    row = page[page.index("<td>accuracy</td>") :]
    assert row.index("0.8125") < row.index("0.7500") < row.index("<td>loss</td>")


def test_the_worst_class_comes_first_and_is_marked(page):
    assert page.index("<td>dog</td>") < page.index("<td>cat</td>")
    assert '<tr class="missed"><td>dog</td>' in page


def test_the_verdict_counts_the_missed_thresholds(page):
    assert "The model missed 1 threshold(s) and is not published." in page


def test_text_of_the_recipe_is_escaped(page):
    assert "Cats &lt;and&gt; dogs." in page


def test_both_pictures_are_in_the_page(page):
    assert page.count("<svg") == 2
    assert "src=" not in page


def test_equal_results_give_an_equal_page(page):
    again = render.render(_RECIPE, _FOUND, class_counts={"train": [300, 200]}, epochs=_EPOCHS)
    assert again == page
