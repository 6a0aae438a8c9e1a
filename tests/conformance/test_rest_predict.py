"""Predict over REST: what values may be, and TF Serving's errors for those that may not."""

import base64

import pytest

from tests.conformance import rest_calls


@pytest.mark.parametrize(
    "body, message",
    [
        (b"", "JSON Parse error: The document is empty"),
        (b"{", "JSON Parse error: Invalid value. at offset: 1"),
        (b"[1]", "JSON Value: [\n    1\n] Is not object"),
        (b"{}", "Missing 'inputs' or 'instances' key"),
        (
            b'{"instances": [], "inputs": []}',
            "expecting only one of 'inputs' or 'instances' keys to exist",
        ),
        (b'{"instances": 3}', "Excepting 'instances' to be an list/array"),
        (b'{"instances": []}', "No values in 'instances' array"),
        (b'{"signature_name": 3}', "'signature_name' key must be a string value."),
        (
            b'{"signature_name": "nope", "instances": [1]}',
            'Serving signature name: "nope" not found in signature def',
        ),
        (
            b'{"instances": ["a"]}',
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: "
            'JSON Value: "a" Type: String is not of expected type: float',
        ),
        (
            b'{"instances": [1, true]}',
            "element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: true Type: True "
            "is not of expected type: float",
        ),
        (b'{"instances": [null]}', "JSON Value: null Type: Null is not of expected type: float"),
        (b'{"instances": [[1], [1, 2]]}', "Expecting tensor size: 1 but got: 2"),
        (b'{"instances": [[1], 2]}', "Expecting shape [1] but got: []"),
        (b'{"instances": [{"x": 1}, 2]}', "Expecting object but got list at item 1 of input list"),
        (
            b'{"instances": [1, {"x": 2}]}',
            "Expecting value/list but got object at item 1 of input list",
        ),
        (b'{"instances": [{"z": 1}]}', "JSON object: does not have named input: z"),
        (
            b'{"instances": [16777217]}',
            "Cannot convert JSON value: 16777217 to float without loss of precision.",
        ),
        (
            b'{"inputs": [[1, 2], [3]]}',
            "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
        ),
        (
            b'{"inputs": [[1], 3]}',
            "JSON Value: 3 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
        ),
        (b'{"inputs": [1, [3]]}', "Encountered list at unexpected level: 1 expected < 1"),
        (b'{"inputs": {"y": 3}}', "Missing named input: x in 'inputs' object."),
        (b'{"inputs": "\xff"}', "JSON Parse error: Invalid encoding in string."),
        (b'{"inputs": ' + b"[" * 40 + b"1" + b"]" * 40 + b"}", "nested at most 32 lists deep."),
        (b'{"inputs": ' + b"[" * 100_000, "JSON Parse error: "),
    ],
)
def test_predict_errors(server, body, message):
    assert message in rest_calls.error_of(server.post(f"{rest_calls.HALF}:predict", body), 400)


def test_columnar_ignores_extra_names(server):
    response = server.post(f"{rest_calls.HALF}:predict", {"inputs": {"x": [2.0], "extra": 1}})
    assert response.text == '{\n    "outputs": [\n        4.0\n    ]\n}'


def test_row_format_wants_the_exact_keys(server):
    response = rest_calls.zoo(server, "two", instances=[{"a": [1, 2]}])
    assert "keys must be equal to: a,b" in rest_calls.error_of(response, 400)


def test_several_outputs_are_named_in_row_format(server):
    response = rest_calls.zoo(
        server, "two", instances=[{"a": [1, 2], "b": 3}, {"a": [0, 0.5], "b": 4}]
    )
    assert response.text == (
        '{\n    "predictions": [\n'
        '        {\n            "sum": 3.0,\n            "twice": 6\n        },\n'
        '        {\n            "sum": 0.5,\n            "twice": 8\n        }\n    ]\n}'
    )


def test_several_outputs_are_named_in_columnar_format(server):
    response = rest_calls.zoo(server, "two", inputs={"a": [[1, 2]], "b": [3]})
    assert response.text == (
        '{\n    "outputs": {\n        "sum": [\n            3.0\n        ],\n'
        '        "twice": [\n            6\n        ]\n    }\n}'
    )


def test_integers_refuse_floats(server):
    response = rest_calls.zoo(server, "two", inputs={"a": [[1, 2]], "b": [3.0]})
    assert (
        rest_calls.error_of(response, 400)
        == "JSON Value: 3.0 Type: Number is not of expected type: int32"
    )


def test_integers_refuse_what_does_not_fit(server):
    response = rest_calls.zoo(server, "two", inputs={"a": [[1, 2]], "b": [2**31]})
    assert "is not of expected type: int32" in rest_calls.error_of(response, 400)


def test_base64_is_bytes_and_bytes_outputs_are_base64(server):
    raw = bytes(range(256))
    response = rest_calls.zoo(server, "echo", instances=[{"b64": base64.b64encode(raw).decode()}])
    (row,) = response.json()["predictions"]
    assert base64.b64decode(row["text_bytes"]["b64"]) == raw
    assert row["length"] == 256


def test_text_is_utf_8_both_ways(server):
    (row,) = rest_calls.zoo(server, "echo", instances=["Größe \U0001f600"]).json()["predictions"]
    assert row["text"] == "Größe \U0001f600"


@pytest.mark.parametrize(
    "value, message",
    [
        ({"b64": "****"}, "Unable to base64 decode"),
        ({"b64": "YQ==", "x": 1}, "does not have named input: b64"),
    ],
)
def test_bad_base64_is_refused(server, value, message):
    assert message in rest_calls.error_of(rest_calls.zoo(server, "echo", instances=[value]), 400)


def test_nan_and_infinity_go_in_and_out_bare(server):
    body = b'{"inputs": [NaN, Infinity, -Infinity]}'
    response = server.post(f"{rest_calls.HALF}:predict", body)
    values = [line.strip(" ,") for line in response.text.splitlines()[2:5]]
    assert values == ["NaN", "Infinity", "-Infinity"]


def test_output_without_batch_dimension_is_an_error_in_row_format(server):
    response = rest_calls.zoo(server, "total", instances=[1.0, 2.0])
    assert rest_calls.error_of(response, 400) == "Tensor name: total has no shape information "


def test_output_without_batch_dimension_is_a_scalar_in_columnar_format(server):
    assert rest_calls.zoo(server, "total", inputs=[1.0, 2.5]).json() == {"outputs": 3.5}


def test_booleans(server):
    assert rest_calls.zoo(server, "negate", instances=[True, False]).json() == {
        "predictions": [False, True]
    }


def test_half_precision_is_unimplemented(server):
    response = rest_calls.zoo(server, "half", instances=[1.0])
    assert "Conversion of JSON Value: 1.0 to type: half" in rest_calls.error_of(response, 501)


def test_signature_without_inputs_cannot_be_called_over_rest(server):
    response = rest_calls.zoo(server, "count_up", inputs={})
    assert rest_calls.error_of(response, 400) == "Failed to get input map for signature: count_up"


def test_error_of_the_graph_reaches_the_client(server):
    response = rest_calls.zoo(server, "refuse_negative", instances=[-1.0])
    assert "negative value" in rest_calls.error_of(response, 400)


def test_wrong_rank_is_refused_before_the_graph_runs(server):
    response = server.post("/v1/models/a%20name:predict", {"instances": [[1.0, 2.0]]})
    assert rest_calls.error_of(response, 400) == (
        'Input "image" of signature "serving_default" must have shape [?,6,4,1]. '
        "Received: shape=[1,2]."
    )
