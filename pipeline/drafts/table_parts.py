"""The parts that drafts for files of rows share."""

from collections.abc import Sequence
from pathlib import Path

from components.ingest.errors import DataError, nearest
from components.ingest.step_survey import Steps
from components.ingest.table_survey import TableSurvey, find_time_column
from pipeline import toml_text
from pipeline.drafts import parts
from pipeline.drafts.machine import Machine

# Columns of such names are what is asked for, the likeliest first.
_ANSWER_NAMES = (
    *("label", "class", "target", "y", "outcome", "score", "sentiment", "rating", "diagnosis"),
    *("churn", "species", "demand", "load", "sales", "price", "value", "quality", "quantity"),
)


def summary(survey: TableSurvey) -> str:
    """Returns what was looked at, in a few words."""
    return f"{survey.num_rows} rows, {len(survey.columns)} columns"


def head(
    survey: TableSurvey,
    path: Path,
    machine: Machine,
    *,
    name: str,
    description: str,
    task: str,
    seed: int,
) -> str:
    """Returns what stands before the first table, and the source."""
    first = parts.head(
        f"{survey.num_rows} rows were looked at",
        machine,
        name=name,
        description=description,
        task=task,
        seed=seed,
    )
    is_csv = survey.source_kind == "csv" and survey.delimiter != ","
    delimiter = f"delimiter = {toml_text.value(survey.delimiter)}\n" if is_csv else ""
    test = f"test_path = {toml_text.value(str(path))}\n" if survey.has_test_arrays else ""
    return (
        f'{first}[data.source]\nkind = "{survey.source_kind}"\n'
        f"path = {toml_text.value(str(path))}\n{delimiter}{test}\n"
    )


def choose(names: Sequence[str], survey: TableSurvey, *, expected: str, cure: str) -> str:
    """Chooses a column by its name, or the first one.

    Args:
        names: Columns to choose from.
        survey: The table.
        expected: What was looked for, for the error.
        cure: What to do if there is none.

    Raises:
        DataError: If there are no names.
    """
    if not names:
        found = ", ".join(f"{name} ({column.kind})" for name, column in survey.columns.items())
        raise DataError(f"Expected {expected}. Received: {found}. {cure}")
    by_name = {name.lower(): name for name in reversed(names)}
    likely = [by_name[name] for name in _ANSWER_NAMES if name in by_name]
    return (likely or list(names))[0]


def check_column(survey: TableSurvey, name: str) -> None:
    """Checks that a column that the user named is there.

    Raises:
        DataError: If it is not.
    """
    if name not in survey.columns:
        found: Sequence[str] = list(survey.columns)
        raise DataError(
            f'Expected a column "{name}". Received: {", ".join(found)}.{nearest(name, found)}'
        )


def only_series(survey: TableSurvey, time: str | None) -> Steps:
    """Returns the steps of a table that the user says is a series, although none were seen.

    Args:
        survey: The table.
        time: The column of times; looked for if None.

    Raises:
        DataError: If there is no column of times.
    """
    found = time or find_time_column(survey)
    if found is None:
        columns = ", ".join(f"{name} ({column.kind})" for name, column in survey.columns.items())
        raise DataError(f"Expected a column of times. Received: {columns}. Name it with --time.")
    return Steps(time=found, series=None)
