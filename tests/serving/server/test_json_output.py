import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.server import errors, json_output


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_float32_reads_back_exactly(value):
    assert np.float32(json_output.format_float(np.float32(value))) == np.float32(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float64_reads_back_exactly(value):
    assert float(json_output.format_float(np.float64(value))) == value


def test_many_floats_are_written_as_each_alone():
    source = np.random.default_rng(1)
    decimals = source.integers(-(10**7), 10**7, 500) / 10.0 ** source.integers(0, 12, 500)
    any_bits = source.integers(0, 2**32, 500, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 1.17e-38, 3.4e38, 999999.5, 1 / 3]
    for values in (np.float32([*decimals, *any_bits, *special]), np.array([*decimals, *special])):
        written = json.loads(json_output.predictions({"y": values}), parse_float=str)
        assert len(values) > json_output._MIN_SIFTED_VALUES
        alone = [json_output.format_float(value) for value in values]
        texts = [each if isinstance(each, str) else f"{each:g}" for each in written["predictions"]]
        assert [text.replace("nan", "NaN").replace("inf", "Infinity") for text in texts] == alone


@given(st.text())
def test_error_is_json_whatever_its_text(text):
    cleaned = text.encode(errors="replace").decode()
    assert json.loads(json_output.error_body(text)) == {"error": cleaned}


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3), (2, 0), (1, 2, 3, 1)])
def test_both_formats_hold_the_array(shape):
    array = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    assert json.loads(json_output.predictions({"y": array})) == {"predictions": array.tolist()}
    assert json.loads(json_output.outputs_object({"y": array})) == {"outputs": array.tolist()}


def test_rows_of_several_outputs_are_objects():
    outputs = {"b": np.array([[1.5], [2.0]]), "a": np.array([True, False])}
    rows = json.loads(json_output.predictions(outputs))["predictions"]
    assert rows == [{"a": True, "b": [1.5]}, {"a": False, "b": [2.0]}]


@pytest.mark.parametrize("nums_rows", [[1, 2, 1], [4], [2, 0, 2]])
@pytest.mark.parametrize("names", ["a", "ab%"])
def test_several_requests_get_what_each_would_get_alone(names, nums_rows):
    texts = np.array([[b"50 % %s", b"x"]] * 4, object)
    arrays = {"a": np.arange(4.0), "b": texts, "%": np.zeros((4, 0, 3), np.int32)}
    outputs = {name: arrays[name] for name in names}
    ends = np.cumsum([0, *nums_rows])
    alone = [
        json_output.predictions({name: array[start:stop] for name, array in outputs.items()})
        for start, stop in itertools.pairwise(ends)
    ]
    assert json_output.split_predictions(outputs, nums_rows) == alone
    first = json.loads(alone[0])["predictions"]
    assert [row["a"] if len(names) > 1 else row for row in first] == [
        float(number) for number in range(nums_rows[0])
    ]


def test_outputs_of_different_batch_sizes_are_refused_in_row_format():
    outputs = {"a": np.zeros(2), "b": np.zeros(3)}
    with pytest.raises(errors.ServingError, match="b has inconsistent batch size: 3 expecting: 2"):
        json_output.predictions(outputs)


def test_dtype_that_json_lacks_is_refused():
    with pytest.raises(errors.ServingError, match="Failed to write JSON value for tensor type"):
        json_output.outputs_object({"y": np.zeros(2, complex)})
