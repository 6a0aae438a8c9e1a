"""gRPC with the stock stubs of tensorflow-serving-api, as TF Serving's own tests use them."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from tests.conformance import grpc_calls
from tests.serving import model_factory


@pytest.fixture(scope="module")
def stub(grpc_server):
    return prediction_service_pb2_grpc.PredictionServiceStub(grpc_server.channel)


@pytest.fixture(scope="module")
def models(grpc_server):
    return model_service_pb2_grpc.ModelServiceStub(grpc_server.channel)


def add_example(source, value):
    example = source.example_list.examples.add()
    example.features.feature["x"].float_list.value.append(value)


def test_predict_answers_in_the_typed_field_with_the_full_model_spec(stub):
    request = grpc_calls.predict_request(
        "half_plus_two", x=np.array([2.0], np.float32), outputs=["y"]
    )
    response = stub.Predict(request, grpc_calls.TIMEOUT_SECS)
    assert list(response.outputs["y"].float_val) == [3.0]
    assert response.outputs["y"].tensor_content == b""
    assert response.model_spec.name == "half_plus_two"
    assert response.model_spec.signature_name == "serving_default"
    assert response.model_spec.version.value == 124


@pytest.mark.parametrize("choice", [{"version": 123}, {"label": "stable"}])
def test_version_and_label_choose(stub, choice):
    request = grpc_calls.predict_request("half_plus_two", x=np.array([2.0], np.float32), **choice)
    assert stub.Predict(request, grpc_calls.TIMEOUT_SECS).model_spec.version.value == 123


def test_classify(stub):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name = "half_plus_two"
    request.model_spec.signature_name = "classify_x_to_y"
    add_example(request.input, 2.0)
    (one,) = stub.Classify(request, grpc_calls.TIMEOUT_SECS).result.classifications
    assert [each.score for each in one.classes] == [3.0]


def test_regress(stub):
    request = regression_pb2.RegressionRequest()
    request.model_spec.name = "half_plus_two"
    request.model_spec.signature_name = "regress_x_to_y"
    add_example(request.input, 2.0)
    response = stub.Regress(request, grpc_calls.TIMEOUT_SECS)
    assert [each.value for each in response.result.regressions] == [3.0]
    assert response.model_spec.signature_name == "regress_x_to_y"


def multi_request(*tasks):
    request = inference_pb2.MultiInferenceRequest()
    add_example(request.input, 2.0)
    for model, signature, method in tasks:
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name = model
        task.model_spec.signature_name = signature
    return request


def test_multi_inference_runs_every_task(stub):
    request = multi_request(
        ("half_plus_two", "regress_x_to_y", "regress"),
        ("half_plus_two", "classify_x_to_y", "classify"),
    )
    regressed, classified = stub.MultiInference(request, grpc_calls.TIMEOUT_SECS).results
    assert regressed.regression_result.regressions[0].value == 3.0
    assert classified.classification_result.classifications[0].classes[0].score == 3.0


@pytest.mark.parametrize(
    "tasks, code, message",
    [
        ([], "INVALID_ARGUMENT", "at least one task"),
        (
            [("half_plus_two", "a", "regress"), ("half_plus_three", "b", "regress")],
            "INVALID_ARGUMENT",
            "must access one model",
        ),
        (
            [("half_plus_two", "serving_default", "predict")],
            "UNIMPLEMENTED",
            "Unsupported signature",
        ),
        (
            [("half_plus_two", "regress_x_to_y", "regress")] * 2,
            "INVALID_ARGUMENT",
            "Duplicate evaluation of signature",
        ),
    ],
)
def test_multi_inference_errors(stub, tasks, code, message):
    received, details = grpc_calls.error_of(
        lambda: stub.MultiInference(multi_request(*tasks), grpc_calls.TIMEOUT_SECS)
    )
    assert received is grpc.StatusCode[code]
    assert message in details


@pytest.mark.parametrize(
    "request_, code, message",
    [
        (
            grpc_calls.predict_request("nope"),
            "NOT_FOUND",
            "Servable not found for request: Latest(nope)",
        ),
        (
            grpc_calls.predict_request("half_plus_two", version=5),
            "NOT_FOUND",
            "Servable not found for request: Specific(half_plus_two, 5)",
        ),
        (
            grpc_calls.predict_request("half_plus_two", label="nope"),
            "INVALID_ARGUMENT",
            "Unrecognized servable version label: nope",
        ),
        (predict_pb2.PredictRequest(), "INVALID_ARGUMENT", "Missing ModelSpec"),
        (
            grpc_calls.predict_request("half_plus_two", "nope"),
            "FAILED_PRECONDITION",
            'Serving signature key "nope" not found.',
        ),
        (
            grpc_calls.predict_request("half_plus_two", a=1.0, b=1.0),
            "INVALID_ARGUMENT",
            "input size does not match signature: 2!=1 len({a,b}) != len({x}). "
            "Sent extra: {a,b}. Missing but required: {x}.",
        ),
        (
            grpc_calls.predict_request("half_plus_two", x=np.array([1], np.int32)),
            "INVALID_ARGUMENT",
            'of signature "serving_default" must have dtype float. Received: dtype=int32.',
        ),
        (
            grpc_calls.predict_request("half_plus_two", x=np.float32([1]), outputs=["z"]),
            "INVALID_ARGUMENT",
            "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
        ),
        (
            grpc_calls.predict_request("half_plus_two", x=np.float32([1]), outputs=["y", "y"]),
            "INVALID_ARGUMENT",
            "duplicate output tensor alias: y",
        ),
        (
            grpc_calls.predict_request("a name", image=np.zeros((1, 5), np.float32)),
            "INVALID_ARGUMENT",
            "must have shape [?,6,4,1]. Received: shape=[1,5].",
        ),
        (
            grpc_calls.predict_request("zoo", "refuse_negative", x=np.float32([-1])),
            "INVALID_ARGUMENT",
            "negative value",
        ),
    ],
)
def test_predict_errors(stub, request_, code, message):
    received, details = grpc_calls.error_of(lambda: stub.Predict(request_, grpc_calls.TIMEOUT_SECS))
    assert received is grpc.StatusCode[code]
    assert message in details


def test_bytes_that_are_no_message_are_the_clients_fault(grpc_server):
    call = grpc_server.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    received, details = grpc_calls.error_of(
        lambda: call(b"\xff" * 20, timeout=grpc_calls.TIMEOUT_SECS)
    )
    assert received is grpc.StatusCode.INVALID_ARGUMENT
    assert details == "The request must be a tensorflow.serving.PredictRequest message."


def test_signature_without_inputs_keeps_state(stub):
    request = grpc_calls.predict_request("zoo", "count_up")
    first, second = (
        stub.Predict(request, grpc_calls.TIMEOUT_SECS).outputs["count"] for _ in range(2)
    )
    assert second.int64_val[0] == first.int64_val[0] + 1


def test_half_precision_goes_both_ways(stub):
    values = np.array([0.5, 65_504], np.float16)
    request = grpc_calls.predict_request("zoo", "half", x=values)
    answer = tf.make_ndarray(stub.Predict(request, grpc_calls.TIMEOUT_SECS).outputs["y"])
    np.testing.assert_array_equal(answer, np.array([1.0, np.inf], np.float16))


def test_images_as_examples_equal_pixels(stub):
    images = model_factory.make_images(4)
    examples = [model_factory.to_example(image) for image in images]
    by_pixels = stub.Predict(
        grpc_calls.predict_request("a name", image=images.astype(np.float32)),
        grpc_calls.TIMEOUT_SECS,
    )
    by_examples = stub.Predict(
        grpc_calls.predict_request("a name", "serve_examples", examples=examples),
        grpc_calls.TIMEOUT_SECS,
    )
    for name in ("probabilities", "class_ids", "classes"):
        np.testing.assert_array_equal(
            tf.make_ndarray(by_examples.outputs[name]), tf.make_ndarray(by_pixels.outputs[name])
        )


def test_large_messages_pass(stub):
    values = np.arange(2_000_000, dtype=np.float32)
    response = stub.Predict(
        grpc_calls.predict_request("half_plus_three", x=values), grpc_calls.TIMEOUT_SECS
    )
    np.testing.assert_array_equal(tf.make_ndarray(response.outputs["y"]), values / 2 + 3)


def test_metadata_holds_every_signature(stub):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "half_plus_two"
    response = stub.GetModelMetadata(request, grpc_calls.TIMEOUT_SECS)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].inputs["x"].dtype == tf.float32
    assert response.model_spec.version.value == 124


@pytest.mark.parametrize(
    "fields, message",
    [
        ([], "must specify at least one metadata_field"),
        (["nope"], "Metadata field nope is not supported"),
    ],
)
def test_metadata_errors(stub, fields, message):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    request.model_spec.name = "half_plus_two"
    received, details = grpc_calls.error_of(
        lambda: stub.GetModelMetadata(request, grpc_calls.TIMEOUT_SECS)
    )
    assert received is grpc.StatusCode.INVALID_ARGUMENT
    assert message in details


def test_status(models):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "half_plus_two"
    statuses = models.GetModelStatus(request, grpc_calls.TIMEOUT_SECS).model_version_status
    assert [(each.version, each.state) for each in statuses] == [(124, 30), (123, 30)]


@pytest.mark.parametrize(
    "service, expected", [("", b"\x08\x01"), ("zoo", b"\x08\x01"), ("nope", "NOT_FOUND")]
)
def test_health_service(grpc_server, service, expected):
    call = grpc_server.channel.unary_unary("/grpc.health.v1.Health/Check")
    request = b"\n" + bytes([len(service)]) + service.encode() if service else b""
    if expected == "NOT_FOUND":
        assert (
            grpc_calls.error_of(lambda: call(request, timeout=grpc_calls.TIMEOUT_SECS))[0]
            is grpc.StatusCode.NOT_FOUND
        )
    else:
        assert call(request, timeout=grpc_calls.TIMEOUT_SECS) == expected
