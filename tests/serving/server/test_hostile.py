"""Thousands of requests that mean harm: none may take the server down, or show as its fault."""

import gzip
import json
import random
import socket

import grpc
import numpy as np
import psutil
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from tests.serving import harness, model_factory

# With those of both front ends of gRPC: 10,000.
NUM_REST_REQUESTS = 5_000
NUM_GRPC_REQUESTS = 2_500
TIMEOUT_SECS = 60
# Answers that a client can cause: its own faults, unimplemented dtypes, and what is documented.
EXPECTED_STATUSES = {200, 400, 404, 413, 431, 501}
EXPECTED_CODES = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    base = tmp_path_factory.mktemp("hostile") / "m"
    model_factory.export_classifier(base / "1")
    return {
        "model_name": "m",
        "model_base_path": str(base),
        "rest_api_max_body_bytes": 1_000_000,
    }


@pytest.fixture(scope="module")
def server(settings):
    with harness.serve(**settings) as running:
        yield running


@pytest.fixture(scope="module", params=["grpcio", "http2"])
def grpc_server(request, settings):
    """The same over each of the front ends of gRPC."""
    with harness.serve(**settings, grpc_frontend=request.param) as running:
        yield running


def good_body():
    return {"instances": model_factory.make_images(2).astype(float).tolist()}


def works(server):
    return server.post("/v1/models/m:predict", good_body()).status_code == 200


def random_value(source, depth=0):
    kinds = ["number", "text", "null", "list", "object", "bool", "huge", "b64"]
    kind = source.choice(kinds if depth < 5 else kinds[:3])
    if kind == "list":
        return [random_value(source, depth + 1) for _ in range(source.randrange(4))]
    if kind == "object":
        return {source.choice("abx"): random_value(source, depth + 1)}
    return {
        "number": source.choice([0, -1, 2.5, float("nan"), float("inf"), 1e400]),
        "text": source.choice(["", "a", "\0", "\u2028", "x" * 100]),
        "null": None,
        "bool": True,
        "huge": 10 ** source.randrange(400),
        "b64": {"b64": source.choice(["", "YQ", "*", "YQ==" * 50])},
    }[kind]


def hostile_body(source):
    kind = source.randrange(7)
    if kind == 0:
        return source.randbytes(source.randrange(300))
    if kind == 1:
        return b'{"instances": ' + source.choice([b"[", b'{"a":']) * source.randrange(5_000)
    if kind == 2:
        text = json.dumps(good_body()).encode()
        return text[: source.randrange(len(text))]
    document = {
        "signature_name": source.choice(
            ["serving_default", "serve_bytes", "serve_examples", "nope", 3, None]
        ),
        source.choice(["instances", "inputs", "examples", "other"]): random_value(source),
    }
    if kind == 3:
        document["inputs"] = {"image": random_value(source)}
    return json.dumps(document).encode()


def test_hostile_rest_requests_get_only_documented_answers(server):
    source = random.Random(1)
    methods = ["predict", "predict", "classify", "regress"]
    choices = ["", "", "/versions/1", "/versions/99999999999999999999", "/labels/%00"]
    statuses = set()
    for _ in range(NUM_REST_REQUESTS):
        body = hostile_body(source)
        headers = {}
        if source.random() < 0.1:
            body, headers = gzip.compress(body), {"Content-Encoding": "gzip"}
        path = f"/v1/models/m{source.choice(choices)}:{source.choice(methods)}"
        response = server.http.post(path, content=body, headers=headers)
        statuses.add(response.status_code)
        if response.status_code != 200:
            assert "error" in response.json()
    assert statuses <= EXPECTED_STATUSES
    assert works(server)


def hostile_message(source):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = source.choice(["m", "m", "m", "", "nope"])
    request.model_spec.signature_name = source.choice(["", "serve_bytes", "serve_examples", "x"])
    name = source.choice(["image", "image", "image_bytes", "examples", "y"])
    tensor = request.inputs[name]
    tensor.dtype = source.randrange(-1, 30)
    for _ in range(source.randrange(6)):
        tensor.tensor_shape.dim.add(size=source.choice([-1, 0, 1, 4, 6, 2**31, 2**62]))
    tensor.tensor_shape.unknown_rank = source.random() < 0.1
    if source.random() < 0.5:
        tensor.tensor_content = source.randbytes(source.randrange(100))
    else:
        tensor.float_val.extend([source.random()] * source.randrange(30))
        tensor.string_val.extend([source.randbytes(9)] * source.randrange(3))
    return request.SerializeToString()


def test_hostile_grpc_requests_get_only_documented_answers(grpc_server):
    source = random.Random(2)
    call = grpc_server.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    codes = set()
    for number in range(NUM_GRPC_REQUESTS):
        message = source.randbytes(50) if number % 10 == 0 else hostile_message(source)
        try:
            call(message, timeout=TIMEOUT_SECS)
        except grpc.RpcError as error:
            codes.add(error.code().name)
    assert codes <= EXPECTED_CODES
    assert works(grpc_server)


@pytest.mark.parametrize("which", ["rest_port", "grpc_port"])
def test_random_bytes_on_a_port_harm_nobody(grpc_server, which):
    source = random.Random(3)
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", getattr(grpc_server.app, which))) as client:
            client.sendall(source.randbytes(source.randrange(1, 2_000)))
    assert works(grpc_server)


def test_gzip_bomb_is_refused(server):
    bomb = gzip.compress(b" " * 90_000_000, compresslevel=1)
    response = server.post("/v1/models/m:predict", bomb, headers={"Content-Encoding": "gzip"})
    assert response.status_code == 400
    assert "inflates to more than 1000000 bytes" in response.json()["error"]


def test_every_wrong_rank_is_refused_before_it_reaches_a_kernel(server):
    for rank in [0, 1, 2, 3, 5, 6]:
        values = np.zeros((1,) * rank).tolist()
        response = server.post("/v1/models/m:predict", {"inputs": values})
        assert "must have shape [?,6,4,1]" in response.json()["error"]


def test_memory_returns_to_its_level(server):
    """A first round fills caches and the allocator's pools; a second may not add to them."""
    process = psutil.Process()
    body = json.dumps({"inputs": np.zeros((300, 6, 4, 1)).tolist()}).encode()
    levels = []
    for _ in range(2):
        for _ in range(40):
            server.post("/v1/models/m:predict", body)
            server.post("/v1/models/m:predict", body[:-9])
        levels.append(process.memory_info().rss)
    assert levels[1] - levels[0] < 20_000_000


def test_image_that_claims_a_huge_size_is_refused(grpc_server):
    png = bytearray(tf.io.encode_png(np.zeros((6, 4, 1), np.uint8)).numpy())
    png[16:24] = (2**31 - 1).to_bytes(4, "big") * 2
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "m", "serve_bytes"
    request.inputs["image_bytes"].CopyFrom(tf.make_tensor_proto([bytes(png)]))
    call = grpc_server.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    with pytest.raises(grpc.RpcError) as caught:
        call(request.SerializeToString(), timeout=TIMEOUT_SECS)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
