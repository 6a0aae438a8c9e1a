"""Requests to the models of the conformance tests, over gRPC."""

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

TIMEOUT_SECS = 30


def predict_request(model, signature="", *, version=None, label=None, outputs=(), **inputs):
    """Returns a PredictRequest with inputs by name."""
    request = predict_pb2.PredictRequest(output_filter=outputs)
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    if label is not None:
        request.model_spec.version_label = label
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


def error_of(call):
    """Returns the code and the details of a call that must fail."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code(), caught.value.details()
