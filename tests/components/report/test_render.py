"""The report says what the evaluation found, and needs no other file."""

import dataclasses

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
_TIMES = {"seconds": 2.0, "wait_share": 0.034}
_EPOCHS = [
    {"epoch": 1, "loss": 0.9, "accuracy": 0.5, "val_loss": 1.0, "val_accuracy": 0.4, **_TIMES},
    {"epoch": 2, "loss": 0.5, "accuracy": 0.7, "val_loss": 0.6, "val_accuracy": 0.6, **_TIMES},
]
_DATA_FINDINGS = [
    {
        "name": "exact_duplicates",
        "severity": "note",
        "sentence": "12 training images are copies of another one.",
        "examples": [["cat/1.png", "cat/<7>.png"], ["dog/2.png", "dog/3.png"]],
        "cure": "Remove the copies.",
        "accepted": "",
    },
    {
        "name": "exact_leaks",
        "severity": "stop",
        "sentence": "3 images are in two splits.",
        "examples": [],
        "cure": "Remove them.",
        "accepted": "It is published so.",
    },
]


def _render():
    return render.render(
        _RECIPE,
        _FOUND,
        class_counts={"train": [300, 200]},
        data_findings=_DATA_FINDINGS,
        epochs=_EPOCHS,
        how_trained="Precision: float32; replicas: 1.",
    )


@pytest.fixture(scope="module")
def page():
    return _render()


def test_the_most_frequent_class_of_the_training_split_is_what_a_model_must_beat():
    found = dataclasses.replace(_FOUND, class_num_examples=(80, 20))
    counts = {"train": [200, 300]}
    text = render.render(
        _RECIPE, found, class_counts=counts, data_findings=[], epochs=_EPOCHS, how_trained="."
    )
    assert "&ldquo;dog&rdquo;" in text
    assert "has the accuracy\n0.2000." in text


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


def test_findings_in_the_data_are_shown_with_examples_and_cure(page):
    row = page[page.index("<td>note</td>") : page.index("<td>stop</td>")]
    assert "For example cat/1.png = cat/&lt;7&gt;.png; dog/2.png = dog/3.png." in row
    assert "<td>Remove the copies.</td>" in row


def test_an_accepted_finding_shows_the_reason_instead_of_the_cure(page):
    row = page[page.index("<td>stop</td>") :]
    assert "<td>Accepted: It is published so.</td>" in row and "Remove them." not in row


def test_data_without_findings_is_said_to_have_none():
    assert "<p>Nothing.</p>" in _numbers_page()


def test_both_pictures_are_in_the_page(page):
    assert page.count("<svg") == 2
    assert "src=" not in page


def test_equal_results_give_an_equal_page(page):
    assert _render() == page


def test_the_page_says_how_the_model_was_trained(page):
    assert "<p>Precision: float32; replicas: 1.</p>" in page


_WINDOW = outcome.Sample(
    quantile=0.5,
    history_T=tuple(range(12)),
    target_H=(12.0, 13.0),
    prediction_H=(11.0, 13.5),
    simple_H=(10.0, 11.0),
)
_FORECASTS = outcome.NumbersOutcome(
    blessed=False,
    num_examples=365,
    metrics={"mae": 0.75, "rmse": 1.25, "skill": 0.625, "mase": 0.5},
    intervals={"mae": (0.7, 0.8125)},
    simple_name="the value 2 steps before",
    simple_metrics={"mae": 2.0, "rmse": 2.5},
    baseline_metrics={"mae": 0.875, "rmse": 1.5, "skill": 0.5, "mase": 0.6},
    step_mae_H=(1.0, 0.5),
    simple_step_mae_H=(2.0, 2.0),
    samples=(_WINDOW, dataclasses.replace(_WINDOW, quantile=1.0)),
    pairs=(),
    failures=(outcome.Failure(metric="mae", label=None, kind="value", value=0.75, bound=0.5),),
)
_ERROR_EPOCHS = [
    {"loss": 0.5, "mae": 2.0, "rmse": 3.0, "val_mae": 1.0, "val_loss": 0.25, **_TIMES}
] * 2


def _numbers_page(**changes):
    found = dataclasses.replace(_FORECASTS, **changes)
    return render.render(
        _RECIPE,
        found,
        class_counts={},
        data_findings=[],
        epochs=_ERROR_EPOCHS,
        how_trained="Precision: float32.",
    )


def test_errors_stand_beside_the_interval_the_last_model_and_the_simple_forecast():
    page = _numbers_page()
    row = page[page.index("<td>mean absolute error</td>") :]
    places = [row.index(text) for text in ("0.75", "0.7 to 0.8125", "0.875", ">2<", "<tr")]
    assert places == sorted(places)
    assert '<tr class="missed"><td>mean absolute error</td>' in page
    assert "the value 2 steps before" in page


def test_forecasts_the_error_by_step_and_learning_curves_are_drawn():
    page = _numbers_page()
    assert page.count("<svg") == 3
    assert "Better than 50% of the test windows" in page
    assert "The largest error of all" in page


def test_predictions_of_a_table_are_drawn_against_the_truth():
    page = _numbers_page(samples=(), pairs=((1.0, 1.5), (2.0, 2.5)))
    assert "Predictions against truth" in page
    assert "Error by steps ahead" not in page
    assert page.count("<svg") == 2


def test_too_few_examples_for_an_interval_are_said_to_be():
    assert "too few test examples" in _numbers_page(intervals={})
    assert "too few test examples" not in _numbers_page()


def test_says_how_long_steps_waited_for_their_input():
    assert "Steps waited for their input 3.4 % of the time." in _render()


def test_a_simple_learner_that_does_better_is_said_plainly():
    comparison = outcome.Comparison(
        name="boosted trees",
        advice="Trees do better on this table: use them.",
        metric="accuracy",
        value=0.9,
        gain=-0.0875,
        interval=(-0.12, -0.05),
        num_train=4321,
    )
    text = render.render(
        _RECIPE,
        dataclasses.replace(_FOUND, comparison=comparison),
        class_counts={"train": [300, 200]},
        data_findings=[],
        epochs=_EPOCHS,
        how_trained=".",
    )
    assert '<p class="missed"><strong>Boosted trees from scikit-learn' in text
    assert "Trees do better on this table: use them.</strong>" in text
    assert "They learned from 4,321 rows" in text
