import gzip
import json

import pytest

from components.ingest import table_survey
from components.ingest.errors import DataError
from tests.components.ingest import ingest_factories


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
    assert (
        table_survey.find_group_column(ingest_factories.survey_columns(tmp_path, columns))
        == expected
    )


def test_a_time_that_is_missing_somewhere_cannot_split(tmp_path):
    times = ["2026-01-01", "2026-01-02"] * 20
    found = ingest_factories.survey_columns(
        tmp_path, {"paid_at": [*times[:-1], None], "sold_at": times}
    )
    assert table_survey.find_time_column(found) == "sold_at"
