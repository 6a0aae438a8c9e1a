"""A model that `kerasline run` published, served, and asked in every way that users have."""

import asyncio
import base64
import io
import json
import shutil
import subprocess

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf
from sklearn import datasets
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from serving.client import client
from tests.serving import harness

NUM_IMAGES = 200
MIN_ACCURACY = 0.9


@pytest.fixture(scope="module")
def server(digits_run):
    with harness.serve(
        model_name="digits", model_base_path=str(digits_run.published.parent)
    ) as running:
        yield running


@pytest.fixture(scope="module")
def images_and_labels():
    images, labels = datasets.load_digits(return_X_y=True)
    pixels = np.floor(images[:NUM_IMAGES].reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    return [PIL.Image.fromarray(each) for each in pixels], labels[:NUM_IMAGES]


def to_png(image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def accuracy(classes, labels):
    return np.mean([int(name) == label for name, label in zip(classes, labels, strict=True)])


@pytest.mark.parametrize("scheme", ["grpc", "http"])
@pytest.mark.parametrize("signature", ["serving_default", "serve_bytes"])
def test_client_gets_the_right_classes(server, images_and_labels, scheme, signature):
    images, labels = images_and_labels
    port = server.app.grpc_port if scheme == "grpc" else server.app.rest_port
    with client.Client(f"{scheme}://127.0.0.1:{port}", "digits") as one:
        answer = one.predict(images, signature_name=signature)
    assert accuracy(answer["classes"], labels) > MIN_ACCURACY


@pytest.mark.parametrize("scheme", ["grpc", "http"])
@pytest.mark.parametrize("signature", ["serving_default", "serve_bytes"])
def test_async_client_gets_the_right_classes_in_parts(server, images_and_labels, scheme, signature):
    images, labels = images_and_labels
    port = server.app.grpc_port if scheme == "grpc" else server.app.rest_port
    address = f"{scheme}://127.0.0.1:{port}"

    async def ask():
        async with client.AsyncClient(address, "digits", max_rows=NUM_IMAGES // 3) as one:
            return await one.predict(images, signature_name=signature)

    assert accuracy(asyncio.run(ask())["classes"], labels) > MIN_ACCURACY


@pytest.fixture(params=["grpcio", "http2"])
def channel(request, server, digits_run):
    """A channel of grpcio to each of the front ends of gRPC."""
    if request.param == "grpcio":
        yield server.channel
        return
    base_path = str(digits_run.published.parent)
    with harness.serve(
        model_name="digits", model_base_path=base_path, grpc_frontend="http2"
    ) as other:
        yield other.channel


def test_stock_stub_gets_the_right_classes(channel, images_and_labels):
    images, labels = images_and_labels
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "digits", "serve_bytes"
    request.inputs["image_bytes"].CopyFrom(tf.make_tensor_proto([to_png(each) for each in images]))
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    answer = stub.Predict(request, harness.TIMEOUT_SECS)
    assert accuracy(answer.outputs["classes"].string_val, labels) > MIN_ACCURACY


@pytest.mark.skipif(shutil.which("curl") is None, reason="No curl here.")
def test_curl_gets_the_right_classes(server, images_and_labels):
    images, labels = images_and_labels
    instances = [{"b64": base64.b64encode(to_png(image)).decode()} for image in images]
    body = json.dumps({"signature_name": "serve_bytes", "instances": instances})
    url = f"http://127.0.0.1:{server.app.rest_port}/v1/models/digits:predict"
    done = subprocess.run(
        ["curl", "--silent", "--fail", "--data", "@-", url],
        input=body,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = json.loads(done.stdout)["predictions"]
    assert accuracy([row["classes"] for row in rows], labels) > MIN_ACCURACY
