import pytest

from tests.components.ingest import ingest_factories


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
        ("beat", [[1, 2]] * 100, "sequence"),
        ("tags", [["a"]] * 100, "other"),
    ],
)
def test_a_column_is_of_the_kind_that_its_name_and_values_say(tmp_path, name, values, kind):
    assert ingest_factories.survey_columns(tmp_path, {name: values}).columns[name].kind == kind


def test_values_are_counted_without_missing_ones(tmp_path):
    found = ingest_factories.survey_columns(
        tmp_path, {"paid": ["card", None, "", "cash", "card"] * 4}
    )
    assert list(found.columns["paid"].counts.items()) == [("card", 8), ("cash", 4)]
    assert found.num_rows == 20
