"""REST as TF Serving's documentation and tests have it, byte for byte where they show bytes."""

import base64
import gzip
import json
import math

import pytest

from tests.conformance import conftest
from tests.serving import model_factory

HALF = "/v1/models/half_plus_three"
ZOO = "/v1/models/zoo:predict"


def error_of(response, status):
    assert response.status_code == status, response.text
    return response.json()["error"]


def zoo(server, name, **body):
    return server.post(ZOO, {"signature_name": name, **body})


def test_documented_predict_answer(server):
    response = server.post(f"{HALF}:predict", b'{"instances": [1.0,2.0,5.0]}')
    assert response.content == b'{\n    "predictions": [3.5, 4.0, 5.5]\n}'
    assert response.headers["content-type"] == "application/json"


def test_documented_regress_answer(server):
    body = b'{"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}'
    assert server.post(f"{HALF}:regress", body).content == b'{\n    "results": [3.5, 4.0]\n}'


def test_documented_status_answer(server):
    assert server.http.get(HALF).text.rstrip("\n") == (
        '{\n "model_version_status": [\n  {\n   "version": "123",\n   "state": "AVAILABLE",\n'
        '   "status": {\n    "error_code": "OK",\n    "error_message": ""\n   }\n  }\n ]\n}'
    )


def test_documented_error_answer(server):
    response = server.post("/v1/models/half:predict", b'{"instances": [1.0,5.0]}')
    assert response.status_code == 404
    assert response.text == '{ "error": "Servable not found for request: Latest(half)" }'


def test_classify_answers_label_and_score(server):
    body = {"signature_name": "classify_x_to_y", "examples": [{"x": 2.0}]}
    response = server.post("/v1/models/half_plus_two:classify", body)
    assert response.text == '{\n    "results": [[["", 3.0]]]\n}'


def test_context_is_shared_and_an_examples_own_value_wins(server):
    body = {
        "signature_name": "regress_x_to_y",
        "context": {"x": 4.0},
        "examples": [{}, {"x": 2.0}],
    }
    response = server.post("/v1/models/half_plus_two:regress", body)
    assert response.json() == {"results": [4.0, 3.0]}


@pytest.mark.parametrize("choice", ["/versions/123", "/labels/stable", "/labels/ca%2Fna%3Ary", ""])
def test_version_and_label_choose(server, choice):
    response = server.post(f"/v1/models/half_plus_two{choice}:predict", {"instances": [2.0]})
    assert response.json() == {"predictions": [3.0]}


def test_status_lists_the_newest_version_first(server):
    statuses = server.http.get("/v1/models/half_plus_two").json()["model_version_status"]
    assert [status["version"] for status in statuses] == ["124", "123"]


def test_status_of_one_label(server):
    statuses = server.http.get("/v1/models/half_plus_two/labels/stable").json()
    assert [each["version"] for each in statuses["model_version_status"]] == ["123"]


def test_encoded_model_name_is_decoded(server):
    assert server.http.get("/v1/models/a%20name").status_code == 200


def test_methods_are_matched_in_any_case(server):
    assert server.post(f"{HALF}:PREDICT", {"instances": [1.0]}).status_code == 200


@pytest.mark.parametrize(
    "path, status, message",
    [
        ("/v1/models", 400, "Missing model name in request."),
        ("/v1/models/nope", 404, "Could not find any versions of model nope"),
        (
            "/v1/models/half_plus_three/versions/9",
            404,
            "Could not find version 9 of model half_plus_three",
        ),
        ("/v1/models/half_plus_two/labels/nope", 400, "Unrecognized servable version label: nope"),
        (
            "/v1/models/half_plus_two/labels/nope/metadata",
            400,
            "Unrecognized servable version label: nope",
        ),
        ("/v1/models/nope/metadata", 404, "Servable not found for request: Latest(nope)"),
        (
            "/v1/models/half_plus_two/versions/9/metadata",
            404,
            "Servable not found for request: Specific(half_plus_two, 9)",
        ),
        (
            "/v1/models/m/versions/99999999999999999999",
            400,
            "Failed to convert version: 99999999999999999999 to numeric.",
        ),
        ("/v1/other", 400, "Malformed request: GET /v1/other"),
        (
            "/v1/models/half_plus_three:predict",
            400,
            "Malformed request: GET /v1/models/half_plus_three:predict",
        ),
    ],
)
def test_get_errors(server, path, status, message):
    assert error_of(server.http.get(path), status) == message


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
    assert message in error_of(server.post(f"{HALF}:predict", body), 400)


def test_columnar_ignores_extra_names(server):
    response = server.post(f"{HALF}:predict", {"inputs": {"x": [2.0], "extra": 1}})
    assert response.text == '{\n    "outputs": [\n        4.0\n    ]\n}'


def test_row_format_wants_the_exact_keys(server):
    response = zoo(server, "two", instances=[{"a": [1, 2]}])
    assert "keys must be equal to: a,b" in error_of(response, 400)


def test_several_outputs_are_named_in_row_format(server):
    response = zoo(server, "two", instances=[{"a": [1, 2], "b": 3}, {"a": [0, 0.5], "b": 4}])
    assert response.text == (
        '{\n    "predictions": [\n'
        '        {\n            "sum": 3.0,\n            "twice": 6\n        },\n'
        '        {\n            "sum": 0.5,\n            "twice": 8\n        }\n    ]\n}'
    )


def test_several_outputs_are_named_in_columnar_format(server):
    response = zoo(server, "two", inputs={"a": [[1, 2]], "b": [3]})
    assert response.text == (
        '{\n    "outputs": {\n        "sum": [\n            3.0\n        ],\n'
        '        "twice": [\n            6\n        ]\n    }\n}'
    )


def test_integers_refuse_floats(server):
    response = zoo(server, "two", inputs={"a": [[1, 2]], "b": [3.0]})
    assert error_of(response, 400) == "JSON Value: 3.0 Type: Number is not of expected type: int32"


def test_integers_refuse_what_does_not_fit(server):
    response = zoo(server, "two", inputs={"a": [[1, 2]], "b": [2**31]})
    assert "is not of expected type: int32" in error_of(response, 400)


def test_base64_is_bytes_and_bytes_outputs_are_base64(server):
    raw = bytes(range(256))
    response = zoo(server, "echo", instances=[{"b64": base64.b64encode(raw).decode()}])
    (row,) = response.json()["predictions"]
    assert base64.b64decode(row["text_bytes"]["b64"]) == raw
    assert row["length"] == 256


def test_text_is_utf_8_both_ways(server):
    (row,) = zoo(server, "echo", instances=["Größe \U0001f600"]).json()["predictions"]
    assert row["text"] == "Größe \U0001f600"


@pytest.mark.parametrize(
    "value, message",
    [
        ({"b64": "****"}, "Unable to base64 decode"),
        ({"b64": "YQ==", "x": 1}, "does not have named input: b64"),
    ],
)
def test_bad_base64_is_refused(server, value, message):
    assert message in error_of(zoo(server, "echo", instances=[value]), 400)


def test_nan_and_infinity_go_in_and_out_bare(server):
    body = b'{"inputs": [NaN, Infinity, -Infinity]}'
    response = server.post(f"{HALF}:predict", body)
    values = [line.strip(" ,") for line in response.text.splitlines()[2:5]]
    assert values == ["NaN", "Infinity", "-Infinity"]


def test_output_without_batch_dimension_is_an_error_in_row_format(server):
    response = zoo(server, "total", instances=[1.0, 2.0])
    assert error_of(response, 400) == "Tensor name: total has no shape information "


def test_output_without_batch_dimension_is_a_scalar_in_columnar_format(server):
    assert zoo(server, "total", inputs=[1.0, 2.5]).json() == {"outputs": 3.5}


def test_booleans(server):
    assert zoo(server, "negate", instances=[True, False]).json() == {"predictions": [False, True]}


def test_half_precision_is_unimplemented(server):
    response = zoo(server, "half", instances=[1.0])
    assert "Conversion of JSON Value: 1.0 to type: half" in error_of(response, 501)


def test_signature_without_inputs_cannot_be_called_over_rest(server):
    response = zoo(server, "count_up", inputs={})
    assert error_of(response, 400) == "Failed to get input map for signature: count_up"


def test_error_of_the_graph_reaches_the_client(server):
    response = zoo(server, "refuse_negative", instances=[-1.0])
    assert "negative value" in error_of(response, 400)


def test_wrong_rank_is_refused_before_the_graph_runs(server):
    response = server.post("/v1/models/a%20name:predict", {"instances": [[1.0, 2.0]]})
    assert error_of(response, 400) == (
        'Input "image" of signature "serving_default" must have shape [?,6,4,1]. '
        "Received: shape=[1,2]."
    )


def test_image_bytes_are_classified(server):
    image = base64.b64encode(model_factory.to_png(model_factory.make_images(1)[0])).decode()
    body = {"signature_name": "serve_bytes", "instances": [{"b64": image}]}
    (row,) = server.post("/v1/models/a%20name:predict", body).json()["predictions"]
    assert math.isclose(sum(row["probabilities"]), 1, rel_tol=1e-6)
    assert row["classes"] == ("cat", "dog", "Größe")[row["class_ids"]]


def test_exported_model_classifies_images(server):
    image = base64.b64encode(model_factory.to_png(model_factory.make_images(1)[0])).decode()
    body = {"signature_name": "classify", "examples": [{"image": {"b64": image}}]}
    (pairs,) = server.post("/v1/models/a%20name:classify", body).json()["results"]
    assert [label for label, _ in pairs] == ["cat", "dog", "Größe"]
    assert math.isclose(sum(score for _, score in pairs), 1, rel_tol=1e-6)


@pytest.mark.parametrize(
    "body, message",
    [
        (b"{}", "When method is classify, key 'examples' is expected and was not found"),
        (b'{"examples": 1}', "Expecting 'examples' value to be an list/array"),
        (b'{"examples": []}', "'examples' value is an empty array"),
        (b'{"examples": [1]}', "Example must be JSON object but got JSON Number"),
        (b'{"examples": [{"x": null}]}', "Feature: x has element with unexpected JSON type: Null"),
        (
            b'{"examples": [{"x": [1, 2.5]}]}',
            "Unexpected element type in feature: x expecting type: int64",
        ),
        (
            b'{"examples": [{"x": 18446744073709551615}]}',
            "Feature: x has uint64 element. Only int64 is supported.",
        ),
        (
            b'{"examples": [{"x": 1.0}]}',
            "Expected regression signature method_name to be tensorflow/serving/regress. "
            "Was: tensorflow/serving/predict",
        ),
        (
            b'{"examples": [{"x": 1.0}], "signature_name": "nope"}',
            "No signature was found with the name: nope",
        ),
    ],
)
def test_regress_errors(server, body, message):
    assert message in error_of(server.post("/v1/models/half_plus_two:regress", body), 400)


def test_gzip_both_ways(server):
    body = gzip.compress(json.dumps({"instances": [1.0] * 500}).encode())
    response = server.post(f"{HALF}:predict", body, headers={"Content-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert response.json()["predictions"] == [3.5] * 500


@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(b"{}")[:-4]])
def test_broken_gzip_is_refused(server, body):
    response = server.post(f"{HALF}:predict", body, headers={"Content-Encoding": "gzip"})
    assert "The request body is not" in error_of(response, 400)


def test_unknown_encoding_is_refused(server):
    response = server.post(f"{HALF}:predict", b"x", headers={"Content-Encoding": "br"})
    assert error_of(response, 400) == "The only Content-Encoding is gzip. Received: br"


def test_cors_headers_and_preflight(server):
    response = server.http.options(f"{HALF}:predict")
    assert response.headers["access-control-allow-origin"] == "*"
    assert server.http.get(HALF).headers["access-control-allow-methods"] == "GET, POST"


def test_metrics_have_tf_servings_names(server):
    server.post(f"{HALF}:predict", {"instances": [1.0]})
    text = server.http.get("/monitoring/prometheus/metrics").text
    assert ':tensorflow:serving:request_count{model_name="half_plus_three",status="OK"}' in text
    assert ":tensorflow:serving:request_latency_bucket{" in text
    assert ":tensorflow:serving:runtime_latency_count{" in text


def test_health(server):
    assert server.http.get("/health/live").status_code == 200
    assert server.http.get("/health/ready").status_code == 200


@pytest.mark.skipif(not conftest.TESTDATA.is_dir(), reason="TF Serving's test data is not here.")
def test_metadata_is_the_document_upstream_keeps(server):
    expected = json.loads(
        (conftest.TESTDATA / "saved_model_half_plus_two_2_versions_metadata.json").read_text()
    )
    received = server.http.get("/v1/models/half_plus_two/versions/123/metadata").json()
    expected["model_spec"]["name"] = "half_plus_two"
    assert received == expected


def test_metadata_has_snake_case_and_texts_for_int64(server):
    document = server.http.get("/v1/models/a%20name/metadata").json()
    assert document["model_spec"] == {"name": "a name", "signature_name": "", "version": "7"}
    signature = document["metadata"]["signature_def"]["signature_def"]["serving_default"]
    image = signature["inputs"]["image"]
    assert image["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in image["tensor_shape"]["dim"]] == ["-1", "6", "4", "1"]
