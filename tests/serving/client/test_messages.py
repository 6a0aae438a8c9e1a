"""The client's own messages against TF Serving's published ones, byte for byte."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import descriptor
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    predict_pb2,
)

from serving.client import messages, operations, tensors
from serving.server import tensor_codec

PUBLISHED = {
    "TensorShapeProto": tensor_shape_pb2.TensorShapeProto,
    "TensorProto": tensor_pb2.TensorProto,
    "TensorInfo": meta_graph_pb2.TensorInfo,
    "SignatureDef": meta_graph_pb2.SignatureDef,
    "ModelSpec": model_pb2.ModelSpec,
    "PredictRequest": predict_pb2.PredictRequest,
    "PredictResponse": predict_pb2.PredictResponse,
    "SignatureDefMap": get_model_metadata_pb2.SignatureDefMap,
    "GetModelMetadataRequest": get_model_metadata_pb2.GetModelMetadataRequest,
    "GetModelMetadataResponse": get_model_metadata_pb2.GetModelMetadataResponse,
    "GetModelStatusRequest": get_model_status_pb2.GetModelStatusRequest,
    "ModelVersionStatus": get_model_status_pb2.ModelVersionStatus,
    "GetModelStatusResponse": get_model_status_pb2.GetModelStatusResponse,
}
# An enum is an int32 on the wire; a packed field of floats is bytes.
SAME_ON_THE_WIRE = {
    descriptor.FieldDescriptor.TYPE_ENUM: descriptor.FieldDescriptor.TYPE_INT32,
}
DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


def fields(message_class):
    described = {}
    for field in message_class.DESCRIPTOR.fields:
        kind = SAME_ON_THE_WIRE.get(field.type, field.type)
        described[field.name] = (field.number, kind, field.is_repeated)
    return described


@pytest.mark.parametrize("name", PUBLISHED)
def test_fields_are_tf_servings(name):
    published = fields(PUBLISHED[name])
    own = fields(messages.classes()[name])
    for field in ("float_val", "double_val"):
        if field in own and name == "TensorProto":
            number, _, _ = own.pop(field)
            assert number == published.pop(field)[0]
    assert own.items() <= published.items()


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensorflow_reads_what_the_client_encodes(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    received = tensor_pb2.TensorProto.FromString(tensors.encode(array).SerializeToString())
    np.testing.assert_array_equal(tf.make_ndarray(received), array)


@pytest.mark.parametrize("as_content", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_client_reads_what_the_server_encodes(dtype, as_content):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    proto = tensor_codec.encode(array, as_content=as_content)
    own = messages.classes()["TensorProto"].FromString(proto.SerializeToString())
    received = tensors.decode(own)
    assert received.dtype == array.dtype
    np.testing.assert_array_equal(received, array)


def test_last_value_of_a_shortened_constant_is_repeated():
    proto = tf.make_tensor_proto(2.5, shape=[2, 2])
    own = messages.classes()["TensorProto"].FromString(proto.SerializeToString())
    np.testing.assert_array_equal(tensors.decode(own), np.full((2, 2), 2.5))


def test_predict_request_is_byte_equal():
    inputs = {"x": np.float32([[1, 2]]), "y": np.array([b"a", b""], object)}
    operation = operations.Predict(
        operations.Target("m", version=3), "serve", tensors.Signature({}, {}), inputs
    )
    expected = predict_pb2.PredictRequest()
    expected.model_spec.name, expected.model_spec.signature_name = "m", "serve"
    expected.model_spec.version.value = 3
    for name, value in inputs.items():
        expected.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    assert operation.grpc_request() == expected.SerializeToString(deterministic=True)


def test_label_is_byte_equal():
    operation = operations.GetStatus(operations.Target("m", label="stable"))
    expected = get_model_status_pb2.GetModelStatusRequest()
    expected.model_spec.name, expected.model_spec.version_label = "m", "stable"
    assert operation.grpc_request() == expected.SerializeToString(deterministic=True)
