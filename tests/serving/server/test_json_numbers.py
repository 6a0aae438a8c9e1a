import json

import numpy as np
import pytest

from serving.server import json_numbers

ROWS = [[[1, 2, 3], [4, 5, 6]]]
BODY = json.dumps({"instances": ROWS}).encode()


@pytest.fixture
def reader():
    reader = json_numbers.NumberReader()
    reader.learn(BODY, np.array(ROWS))
    return reader


def test_an_unknown_pattern_is_left_to_the_careful_way():
    assert json_numbers.NumberReader().read(BODY) is None


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_numbers_of_a_known_pattern_are_those_of_json(reader, separators):
    values = [[[-1.5, 2e3, 0], [12345678901234567890, 1e-7, -0.0]]]
    body = json.dumps({"instances": values}, separators=separators).encode()
    numbers, shape = reader.read(body)
    assert shape == (1, 2, 3)
    assert numbers == np.array(values, object).ravel().tolist()


@pytest.mark.parametrize(
    "body",
    [
        b'{"instances": [[[1, 2, 3], [4, 5, 6]]], "signature_name": "x"}',
        b'{"inputs": [[[1, 2, 3], [4, 5, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 5]]]}',
        b'{"instances": [[[1, 2, 3, 4], [5, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, , 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 5-5, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 05, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 5 5, 6]]]}',
        b'{"instances": [[1[, 2, 3], [4, 5, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 5, ]6]]}',
        b'{"instances": [[[1, 2, 3]1, [4, 5, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, true, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, NaN, 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, "5", 6]]]}',
        b'{"instances": [[[1, 2, 3], [4, 5, 6]]]',
        b'{"instances": [[[1, 2, 3], [4, 5, 6]]]}}',
        b"",
    ],
)
def test_anything_else_is_left_to_the_careful_way(reader, body):
    assert reader.read(body) is None


def test_few_patterns_are_kept():
    reader = json_numbers.NumberReader()
    for size in range(1, 100):
        reader.learn(b'{"instances": %b}' % json.dumps([0] * size).encode(), np.zeros(size))
    assert reader.read(b'{"instances": [7]}') is None
    assert reader.read(b'{"instances": %b}' % json.dumps([7] * 99).encode()) == ([7] * 99, (99,))
