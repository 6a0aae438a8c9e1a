"""What a user gives on the command line becomes the inputs of a signature, or a sentence."""

import json
import math

import numpy as np
import pytest

from pipeline import questions
from tests.components import input_factories

_TABLE = {
    "inputs": {"miles__km_": "float32", "day": "string", "fare": "float32"},
    "recipe": {"data": input_factories.TABLE.to_dict()},
}


def _row(row, facts=_TABLE):
    return questions.make("--row", row if isinstance(row, str) else json.dumps(row), facts).values


def test_a_row_gets_the_names_of_the_served_model():
    row = {"miles (km)": 2.5, "day": "mon", "fare": 7}
    assert _row(row) == {"miles__km_": 2.5, "day": "mon", "fare": 7.0}


def test_the_served_names_may_be_used_as_well():
    assert _row({"miles__km_": 2.5})["miles__km_"] == 2.5


@pytest.mark.parametrize("row", [{}, {"miles (km)": None, "day": None, "fare": None}])
def test_what_is_left_out_or_null_is_missing(row):
    values = _row(row)
    assert values["day"] == ""
    assert math.isnan(values["miles__km_"])
    assert math.isnan(values["fare"])


def test_a_category_may_look_like_a_number():
    assert _row({"day": 7})["day"] == "7"


def test_the_past_of_a_series_is_a_list():
    facts = {"inputs": {"history": "float32"}, "recipe": {"data": {"series": {}}}}
    assert _row({"history": [[1.0], [2.0]]}, facts) == {"history": [[1.0], [2.0]]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "A row must be JSON: .* Received: --row {"),
        ("[1]", r"must be a JSON object of columns and values, such as .* Received: --row \[1\]"),
        (
            {"fair": 3},
            r'no column .fair.. Did you mean "fare"\? .* columns are: miles',
        ),
        ({"fare": "3"}, "Column 'fare' holds numbers. Received: '3'. Write a number, or null"),
        ({"fare": True}, "Column 'fare' holds numbers. Received: True"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(row, message):
    with pytest.raises(questions.PredictionError, match=message):
        _row(row)


def test_another_kind_of_input_names_the_option_to_use():
    with pytest.raises(
        questions.PredictionError,
        match=r"reads table, which --row gives it. Received: --text hello. Ask it with --row.",
    ):
        questions.make("--text", "hello", _TABLE)


def test_a_row_may_lie_in_a_file(tmp_path):
    path = tmp_path / "row.json"
    path.write_text('{"fare": 7}\n')
    assert _row(f"@{path}")["fare"] == 7.0


def test_a_row_in_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(questions.PredictionError, match=r"No such file.* Received: --row @.*none"):
        _row(f"@{tmp_path}/none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(questions.PredictionError, match="no text in UTF-8. Received: --row @"):
        _row(f"@{tmp_path}/bytes")


LISTS = {
    "recipe": {
        "data": {
            "table": {
                "columns": {
                    "beat": {"kind": "sequence", "length": 3, "any_length": True},
                    "exact": {"kind": "sequence", "length": 2, "channels": 2},
                }
            }
        }
    },
    "inputs": {"beat": "float32", "exact": "float32"},
}


def test_a_list_is_padded_where_it_may_be_and_null_is_missing():
    row = json.dumps({"beat": [1, None], "exact": [[1, 2], [3, None]]})
    values = questions.make("--row", row, LISTS).values
    np.testing.assert_array_equal(values["beat"], [1, math.nan, math.nan])
    np.testing.assert_array_equal(values["exact"], [[1, 2], [3, math.nan]])


def test_a_list_that_is_left_out_is_missing_step_by_step():
    values = questions.make("--row", "{}", LISTS).values
    assert np.isnan(values["beat"]).tolist() == [True] * 3
    assert np.isnan(values["exact"]).tolist() == [[True] * 2] * 2


def test_a_number_for_a_list_is_refused():
    with pytest.raises(questions.PredictionError, match=r"'beat' holds lists of 3 steps.*: 5"):
        questions.make("--row", '{"beat": 5}', LISTS)
