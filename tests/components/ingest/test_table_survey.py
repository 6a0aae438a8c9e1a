import gzip
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from components.ingest import table_survey
from components.ingest.errors import DataError


def survey(folder, columns):
    """Looks at a table that was written as Parquet."""
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return table_survey.survey_table(path)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("fare", [float(n) / 3 for n in range(100)], "number"),
        ("fare", [str(n % 30) for n in range(100)], "number"),
        ("payment", ["cash", "card"] * 50, "category"),
        ("area", [n % 9 for n in range(100)], "category"),
        ("surface", [n % 9 for n in range(100)], "number"),
        ("zip_code", [n % 9 + 0.5 for n in range(100)], "number"),
        ("tripId", list(range(100)), "id"),
        ("reference", [f"r{n}" for n in range(100)], "id"),
        ("note", [f"this is what somebody wrote as number {n}" for n in range(100)], "text"),
        ("city", ["Rome"] * 100, "constant"),
        ("when", [f"2026-01-{n % 28 + 1:02}" for n in range(100)], "time"),
        ("when", [f"2026-01-{n % 28 + 1:02}T10:00:00+01:00" for n in range(100)], "time"),
        ("start_timestamp", [1_400_000_000 + 900 * n for n in range(100)], "time"),
        ("trip_time", [60 * n for n in range(100)], "number"),
        ("tags", [[1, 2]] * 100, "other"),
    ],
)
def test_a_column_is_of_the_kind_that_its_name_and_values_say(tmp_path, name, values, kind):
    assert survey(tmp_path, {name: values}).columns[name].kind == kind


def test_values_are_counted_without_missing_ones(tmp_path):
    found = survey(tmp_path, {"paid": ["card", None, "", "cash", "card"] * 4})
    assert list(found.columns["paid"].counts.items()) == [("card", 8), ("cash", 4)]
    assert found.num_rows == 20


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_csv_files_delimiter_is_found(tmp_path, delimiter):
    lines = [delimiter.join(["fare", "tip"]), *(f"{n}{delimiter}{n % 2}" for n in range(30))]
    with gzip.open(tmp_path / "trips.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    found = table_survey.survey_table(tmp_path / "trips.csv.gz")
    assert (found.source_kind, found.delimiter, found.num_rows) == ("csv", delimiter, 30)
    assert list(found.columns) == ["fare", "tip"]


def test_json_lines_may_lack_keys(tmp_path):
    rows = [{"a": n} if n % 2 else {"a": n, "b": "x"} for n in range(10)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = table_survey.survey_table(tmp_path / "rows.jsonl")
    assert (found.source_kind, found.num_rows) == ("jsonl", 10)
    assert found.columns["b"].counts == {"x": 5}


def test_a_file_without_rows_is_refused(tmp_path):
    (tmp_path / "none.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"Expected rows in .*none.csv. Received: none"):
        table_survey.survey_table(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"customer_id": [f"c{n % 40}" for n in range(200)]}, "customer_id"),
        # Each customer came once, or there are too few of them to be divided.
        ({"customer_id": [f"c{n}" for n in range(200)]}, None),
        ({"customer_id": [f"c{n % 3}" for n in range(200)]}, None),
        ({"colour": [f"c{n % 40}" for n in range(200)]}, None),
    ],
)
def test_rows_belong_together_by_a_column_of_such_a_name_that_repeats(tmp_path, columns, expected):
    assert table_survey.find_group_column(survey(tmp_path, columns)) == expected


def test_a_time_that_is_missing_somewhere_cannot_split(tmp_path):
    times = ["2026-01-01", "2026-01-02"] * 20
    found = survey(tmp_path, {"paid_at": [*times[:-1], None], "sold_at": times})
    assert table_survey.find_time_column(found) == "sold_at"


HOURS = [3600 * n + 1_400_000_000 for n in range(150)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"time": HOURS}, table_survey.Steps(time="time", series=None)),
        (
            {"time": HOURS * 2, "meter": ["a"] * 150 + ["b"] * 150},
            table_survey.Steps(time="time", series="meter"),
        ),
        # Trips begin when they will.
        ({"time": np.random.default_rng(0).choice(HOURS, 150).tolist()}, None),
        ({"time": HOURS[:50]}, None),
    ],
)
def test_regular_steps_are_told_from_events(tmp_path, columns, expected):
    assert table_survey.find_steps(survey(tmp_path, columns), "time") == expected


def test_months_are_regular_steps(tmp_path):
    months = np.arange("2010-01", "2020-01", dtype="datetime64[M]").astype("datetime64[s]")
    found = survey(tmp_path, {"month": months})
    assert table_survey.find_steps(found, "month") is not None


@pytest.mark.parametrize(("period", "expected"), [(24, 24), (7, 7), (None, 1)])
def test_the_period_of_a_series_is_found_in_noise(period, expected):
    generator = np.random.default_rng(1)
    values_T = generator.normal(size=600).cumsum() * 0.05
    if period:
        values_T += np.sin(np.arange(600) * 2 * np.pi / period) * 3
    assert table_survey.find_period(values_T) == expected
