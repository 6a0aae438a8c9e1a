"""Drafts a commented recipe for a series of regular steps, or several."""

from pathlib import Path

import numpy as np

from components.ingest import step_survey, table_survey
from components.ingest.sources import columns
from components.ingest.table_survey import TableSurvey
from pipeline import toml_text
from pipeline.drafts import parts, table_parts
from pipeline.drafts.machine import Machine

_MIN_HISTORY_STEPS, _MAX_HORIZON_STEPS = 24, 48
_MAX_COVARIATES = 16
# More windows overlap so far that they tell little more.
_MAX_WINDOWS = 50_000
_NUM_STEPS = 2500
_VALIDATION_SHARE, _TEST_SHARE = 0.1, 0.1
# Columns of such names say when a row is from.
_CALENDAR = ("year", "month", "day", "hour", "minute", "second", "week", "weekday")


class SeriesDraft(parts.Draft):
    """The recipe that forecasts a column.

    Args:
        survey: From `components.ingest.table_survey.survey_table`.
        path: The file.
        name: The recipe's name.
        machine: Where it will run.
        steps: The column of times, and the one that tells series apart.
        value: The column that is forecast; chosen if None.

    Raises:
        DataError: If there is no such column.
    """

    num_splits = 1
    seed = 0

    def __init__(
        self,
        survey: TableSurvey,
        path: Path,
        *,
        name: str,
        machine: Machine,
        steps: step_survey.Steps,
        value: str | None,
    ):
        self._survey, self._path, self._name, self._machine = survey, path, name, machine
        self._steps = steps
        self._value = value or _choose_value(survey)
        for column in (steps.time, self._value):
            table_parts.check_column(survey, column)
        self.is_whole = survey.num_rows < table_survey.MAX_ROWS
        self.summary = table_parts.summary(survey)
        self._period = self._find_period()
        self._horizon = min(self._period, _MAX_HORIZON_STEPS) if self._period > 1 else 12

    def notes(self, choices: parts.Choices) -> tuple[str, ...]:
        """Says what was chosen."""
        return (
            f"forecasts {self._value}, {self._horizon} steps ahead; another column: --value NAME; "
            "a column from the others of its row: --label NAME or --target NAME",
        )

    def text(self, choices: parts.Choices) -> str:
        """Returns the recipe."""
        machine = self._machine
        num_train = round(self._num_windows() * (1 - _VALIDATION_SHARE - _TEST_SHARE))
        batch_size = machine.batch_size(num_train, small=16, large=64, from_rows=2000)
        num_epochs = machine.num_epochs(
            num_train, batch_size=batch_size, num_steps=_NUM_STEPS, least=5, most=30
        )
        head = table_parts.head(
            self._survey,
            self._path,
            machine,
            name=self._name,
            description=f"Forecasts {self._value}.",
            task="forecasting",
            seed=choices.seed,
        )
        training = parts.training(
            machine, num_train=num_train, num_epochs=num_epochs, batch_size=batch_size
        )
        before = f"{self._period} steps" if self._period > 1 else "one step"
        return (
            f"{head}{self._series()}"
            "# The latest steps are the test split, those before them the validation split.\n"
            f'[data.splits]\nby = "time"\nkey = {toml_text.value(self._steps.time)}\n'
            f"validation_share = {_VALIDATION_SHARE}\ntest_share = {_TEST_SHARE}\n\n"
            f"{parts.rejects(choices, thing='rows')}{parts.guard(choices)}"
            "# A linear map of trend and remainder; tcn is a convolutional network that takes "
            f'longer.\n[model]\narchitecture = "dlinear"\n\n{training}'
            + parts.number_gate(f"The simple forecast is the value {before} before.")
        )

    def _find_period(self) -> int:
        times_T, values_T = self._longest_series()
        return step_survey.find_period(values_T[np.argsort(times_T, kind="stable")])

    def _longest_series(self) -> tuple[np.ndarray, np.ndarray]:
        arrays, series = self._survey.arrays, self._steps.series
        problems = columns.Problems()
        times_T = columns.seconds(self._steps.time, arrays[self._steps.time], problems)
        values_T = columns.numbers(self._value, arrays[self._value], problems).values_N
        if series is None:
            return times_T, values_T
        longest = next(iter(self._survey.columns[series].counts))
        names = columns.texts(series, arrays[series], problems)
        is_longest = np.array([name == longest for name in names.to_pylist()])
        return times_T[is_longest], values_T[is_longest]

    def _num_windows(self) -> int:
        return -(-self._survey.num_rows // self._stride())

    def _stride(self) -> int:
        return -(-self._survey.num_rows // _MAX_WINDOWS)

    def _series(self) -> str:
        value, steps, period = self._value, self._steps, self._period
        others = {steps.time, steps.series, value}
        covariates = [
            key
            for key, column in self._survey.columns.items()
            if column.kind in ("number", "category")
            and key not in others
            and _are_numbers(key, self._survey)
        ][:_MAX_COVARIATES]
        series = f"series = {toml_text.value(steps.series)}\n" if steps.series else ""
        stride = f"stride_steps = {self._stride()}\n" if self._stride() > 1 else ""
        note = (
            f"# It resembles itself most after {period} steps."
            if period > 1
            else "# It was not seen to repeat itself after any number of steps."
        )
        return (
            f"{note}\n[data.series]\ntime = {toml_text.value(steps.time)}\n"
            f"value = {toml_text.value(value)}\n{series}"
            "# What else is known of the past.\n"
            f"covariates = {toml_text.value(covariates)}\n"
            f"history_steps = {max(2 * period, _MIN_HISTORY_STEPS)}\n"
            f"horizon_steps = {self._horizon}\nperiod_steps = {period}\n{stride}\n"
        )


def _choose_value(survey: TableSurvey) -> str:
    numbers = [name for name, column in survey.columns.items() if column.kind == "number"]
    # Of two values, it is a mark such as that of a holiday.
    moving = [
        name
        for name in numbers
        if name.lower() not in _CALENDAR and len(survey.columns[name].counts) > 2
    ]
    return table_parts.choose(
        moving or numbers,
        survey,
        expected="a column of numbers that could be forecast",
        cure="Name it with --value.",
    )


def _are_numbers(name: str, survey: TableSurvey) -> bool:
    problems = columns.Problems()
    numbers = columns.numbers(name, survey.arrays[name], problems)
    # A step without a covariate could not be used.
    return not problems and bool(numbers.present_N.all())
