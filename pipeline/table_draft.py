"""Drafts a commented recipe for a file of rows: texts, tables and series."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.ingest.errors import DataError, nearest
from components.ingest.sources import columns
from components.ingest.table_survey import TableSurvey, find_period
from pipeline import toml_text

_MAX_CLASSES = 100
_MIN_CLASS_ROWS = 20
_ANSWER_NAMES = ("label", "class", "target", "score", "y", "outcome", "sentiment", "rating")
_LEFT_OUT = {"id": "differs in nearly every row", "constant": "never changes", "text": "is a text"}
_MARGIN = 0.02
_MIN_HISTORY_STEPS, _MAX_HORIZON_STEPS = 24, 48

_HEAD = """\
# {num_rows} rows were looked at.
schema_version = 1
name = {name}
description = {description}
task = "{task}"
seed = 0

[data.source]
kind = "{kind}"
path = {path}
{delimiter_line}
"""
_TAIL = """\
[model]
architecture = "{architecture}"

[training]
num_epochs = {num_epochs}
global_batch_size = {batch_size}
# "auto" is float32 on a CPU, and half precision where the accelerator gains from it.
precision = "auto"

"""
_SPLITS = """\
# Membership is a hash of the input: a row stays in its split when the data grows. Rows that belong
# together (of one customer, say) need by = "group" and key = the column that tells them apart.
[data.splits]
validation_share = 0.1
test_share = 0.1

# Allow a share of rows that cannot be used; they are listed beside the data.
[data.rejects]
max_share = 0.0

"""


def draft_table(
    survey: TableSurvey, path: Path, *, name: str, label: str | None, target: str | None
) -> str:
    """Returns the text of a recipe that predicts a class or a number from the other columns.

    Args:
        survey: From `components.ingest.table_survey.survey_table`.
        path: The file.
        name: The recipe's name.
        label: The column of classes; chosen if neither it nor `target` is given.
        target: The column of numbers to predict.

    Raises:
        DataError: If there is no such column, or none that could be predicted.
    """
    answer = label or target or _choose_answer(survey)
    _check_column(survey, answer)
    is_class = target is None and (label is not None or _could_be_label(survey, answer))
    texts = [key for key, column in survey.columns.items() if column.kind == "text"]
    if is_class and texts:
        return _draft(survey, path, name, "text_classification", _text(texts[0]), answer)
    task = "tabular_classification" if is_class else "tabular_regression"
    return _draft(survey, path, name, task, _table(survey, answer), answer)


def draft_series(survey: TableSurvey, path: Path, *, name: str, time: str, value: str) -> str:
    """Returns the text of a recipe that forecasts a column.

    Args:
        survey: From `components.ingest.table_survey.survey_table`.
        path: The file.
        name: The recipe's name.
        time: The column of times.
        value: The column that is forecast.

    Raises:
        DataError: If there is no such column.
    """
    for column in (time, value):
        _check_column(survey, column)
    times_T = columns.seconds(time, survey.arrays[time], columns.Problems())
    values_T = columns.numbers(value, survey.arrays[value], columns.Problems()).values_N
    period = find_period(values_T[np.argsort(times_T)])
    horizon = min(period, _MAX_HORIZON_STEPS) if period > 1 else 12
    covariates = [
        key
        for key, column in survey.columns.items()
        if column.kind == "number" and key not in (time, value)
    ]
    lines = (
        f"# It resembles itself after {period} steps.\n[data.series]\n"
        f"time = {toml_text.value(time)}\nvalue = {toml_text.value(value)}\n"
        f"covariates = {toml_text.value(covariates)}\n"
        f"history_steps = {max(2 * period, _MIN_HISTORY_STEPS)}\nhorizon_steps = {horizon}\n"
        f"period_steps = {period}\n\n"
        "# The latest steps are the test split, those before them the validation split.\n"
        f'[data.splits]\nby = "time"\nkey = {toml_text.value(time)}\n'
        "validation_share = 0.1\ntest_share = 0.1\n\n"
    )
    head = _head(survey, path, name, "forecasting", f"Forecasts {value}.")
    tail = _TAIL.format(architecture="dlinear", num_epochs=10, batch_size=64)
    return (
        f"{head}{lines}{tail}"
        "# 1 - mean absolute error / that of repeating the last period; raise it once you know\n"
        "# what is within reach.\n[evaluation]\nmin_skill = 0.0\n"
    )


def _draft(survey: TableSurvey, path: Path, name: str, task: str, inputs: str, answer: str) -> str:
    counts = survey.columns[answer].counts
    head = _head(survey, path, name, task, f"Predicts {answer}.")
    batch_size = 128 if survey.num_rows >= 5000 else 32
    architecture = "bag_of_embeddings" if task == "text_classification" else "mlp"
    tail = _TAIL.format(architecture=architecture, num_epochs=10, batch_size=batch_size)
    if task == "tabular_regression":
        answers = f"[data.target]\nsource_name = {toml_text.value(answer)}\n\n"
        return f"{head}{inputs}{answers}{_SPLITS}{tail}{_number_gate(survey, answer)}"
    names = sorted(counts)
    answers = (
        f"[data.label]\nsource_name = {toml_text.value(answer)}\n"
        f"class_names = {toml_text.value(names)}\n\n"
    )
    return f"{head}{inputs}{answers}{_SPLITS}{tail}{_class_gate(counts)}"


def _head(survey: TableSurvey, path: Path, name: str, task: str, description: str) -> str:
    is_csv = survey.source_kind == "csv" and survey.delimiter != ","
    return _HEAD.format(
        num_rows=survey.num_rows,
        name=toml_text.value(name),
        description=toml_text.value(description),
        task=task,
        kind=survey.source_kind,
        path=toml_text.value(str(path)),
        delimiter_line=f"delimiter = {toml_text.value(survey.delimiter)}\n" if is_csv else "",
    )


def _text(column: str) -> str:
    return f"[data.text]\nsource_name = {toml_text.value(column)}\n\n"


def _table(survey: TableSurvey, answer: str) -> str:
    lines = ["[data.table.columns]"]
    for name, column in survey.columns.items():
        if name == answer:
            continue
        key = toml_text.dumps({name: 0}).rpartition(" = ")[0]
        if column.kind in ("number", "category"):
            lines.append(f'{key} = {{ kind = "{column.kind}" }}')
        else:
            lines.append(f"# Left out: {key} {_LEFT_OUT.get(column.kind, 'is of another kind')}.")
    if not any(" = {" in line for line in lines):
        raise DataError("Expected a column of numbers or names beside the answer. Received: none.")
    return "\n".join(lines) + "\n\n"


def _class_gate(counts: Mapping[str, int]) -> str:
    majority = next(iter(counts))
    share = counts[majority] / sum(counts.values())
    return (
        f"# Always answering {toml_text.value(majority)} is right in {share:.1%} of the rows; a "
        "model must do\n# better. Raise both once you know what is within reach.\n[evaluation]\n"
        f"min_accuracy = {round(min(share + _MARGIN, 1.0), 3)}\nmin_class_accuracy = 0.0\n"
    )


def _number_gate(survey: TableSurvey, answer: str) -> str:
    numbers = columns.numbers(answer, survey.arrays[answer], columns.Problems())
    values_N = numbers.values_N[numbers.present_N]
    error = float(np.abs(values_N - values_N.mean()).mean())
    return (
        f"# Always answering the mean is wrong by {error:.4g} on average.\n[evaluation]\n"
        f"max_mae = {max(error, 1e-6):.4g}\n"
    )


def _choose_answer(survey: TableSurvey) -> str:
    usable = [
        name for name, column in survey.columns.items() if column.kind in ("number", "category")
    ]
    named = [name for name in usable if name.lower() in _ANSWER_NAMES]
    if not usable:
        raise DataError(
            "Expected a column that could be predicted. Received: none with values that repeat. "
            "Name it with --label or --target."
        )
    return (named or usable[-1:])[0]


def _could_be_label(survey: TableSurvey, name: str) -> bool:
    column = survey.columns[name]
    is_few = len(column.counts) <= min(_MAX_CLASSES, survey.num_rows // _MIN_CLASS_ROWS)
    return column.kind == "category" or (is_few and all("." not in text for text in column.counts))


def _check_column(survey: TableSurvey, name: str) -> None:
    if name not in survey.columns:
        found: Sequence[str] = list(survey.columns)
        raise DataError(
            f'Expected a column "{name}". Received: {", ".join(found)}.{nearest(name, found)}'
        )
