"""REST as TF Serving's documentation and tests have it, byte for byte where they show bytes."""

import base64
import gzip
import json
import math

import pytest

from tests.conformance import conftest, rest_calls
from tests.serving import model_factory


def test_documented_predict_answer(server):
    response = server.post(f"{rest_calls.HALF}:predict", b'{"instances": [1.0,2.0,5.0]}')
    assert response.content == b'{\n    "predictions": [3.5, 4.0, 5.5]\n}'
    assert response.headers["content-type"] == "application/json"


def test_documented_regress_answer(server):
    body = b'{"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}'
    assert (
        server.post(f"{rest_calls.HALF}:regress", body).content
        == b'{\n    "results": [3.5, 4.0]\n}'
    )


def test_documented_status_answer(server):
    assert server.http.get(rest_calls.HALF).text.rstrip("\n") == (
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
    assert server.post(f"{rest_calls.HALF}:PREDICT", {"instances": [1.0]}).status_code == 200


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
    assert rest_calls.error_of(server.http.get(path), status) == message


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
    assert message in rest_calls.error_of(
        server.post("/v1/models/half_plus_two:regress", body), 400
    )


def test_gzip_both_ways(server):
    body = gzip.compress(json.dumps({"instances": [1.0] * 500}).encode())
    response = server.post(f"{rest_calls.HALF}:predict", body, headers={"Content-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert response.json()["predictions"] == [3.5] * 500


@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(b"{}")[:-4]])
def test_broken_gzip_is_refused(server, body):
    response = server.post(f"{rest_calls.HALF}:predict", body, headers={"Content-Encoding": "gzip"})
    assert "The request body is not" in rest_calls.error_of(response, 400)


def test_unknown_encoding_is_refused(server):
    response = server.post(f"{rest_calls.HALF}:predict", b"x", headers={"Content-Encoding": "br"})
    assert rest_calls.error_of(response, 400) == "The only Content-Encoding is gzip. Received: br"


def test_cors_headers_and_preflight(server):
    response = server.http.options(f"{rest_calls.HALF}:predict")
    assert response.headers["access-control-allow-origin"] == "*"
    assert server.http.get(rest_calls.HALF).headers["access-control-allow-methods"] == "GET, POST"


def test_metrics_have_tf_servings_names(server):
    server.post(f"{rest_calls.HALF}:predict", {"instances": [1.0]})
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
