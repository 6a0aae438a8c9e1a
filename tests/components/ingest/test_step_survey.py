import numpy as np
import pytest

from components.ingest import step_survey
from tests.components.ingest import ingest_factories

HOURS = [3600 * n + 1_400_000_000 for n in range(150)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"time": HOURS}, step_survey.Steps(time="time", series=None)),
        (
            {"time": HOURS * 2, "meter": ["a"] * 150 + ["b"] * 150},
            step_survey.Steps(time="time", series="meter"),
        ),
        # Trips begin when they will.
        ({"time": np.random.default_rng(0).choice(HOURS, 150).tolist()}, None),
        ({"time": HOURS[:50]}, None),
    ],
)
def test_regular_steps_are_told_from_events(tmp_path, columns, expected):
    assert (
        step_survey.find_steps(ingest_factories.survey_columns(tmp_path, columns), "time")
        == expected
    )


def test_months_are_regular_steps(tmp_path):
    months = np.arange("2010-01", "2020-01", dtype="datetime64[M]").astype("datetime64[s]")
    found = ingest_factories.survey_columns(tmp_path, {"month": months})
    assert step_survey.find_steps(found, "month") is not None


@pytest.mark.parametrize(("period", "expected"), [(24, 24), (7, 7), (None, 1)])
def test_the_period_of_a_series_is_found_in_noise(period, expected):
    generator = np.random.default_rng(1)
    values_T = generator.normal(size=600).cumsum() * 0.05
    if period:
        values_T += np.sin(np.arange(600) * 2 * np.pi / period) * 3
    assert step_survey.find_period(values_T) == expected
