import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from serving.server import calls, predict_messages

IMAGE_HW = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def make_request(array, *, is_packed=False, **inputs) -> bytes:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "m"
    proto = tf.make_tensor_proto(array)
    if is_packed:
        proto.ClearField("tensor_content")
        proto.float_val.extend(array.ravel().tolist())
    request.inputs["x"].CopyFrom(proto)
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request.SerializeToString()


def learn(body, array) -> predict_messages.RequestReader:
    reader = predict_messages.RequestReader()
    call = calls.Call("m")
    reader.learn(body, predict_messages.Parsed(call, {"x": array}, ()))
    return reader


@pytest.mark.parametrize("is_packed", [False, True], ids=["tensor_content", "float_val"])
def test_request_that_differs_in_its_values_only_is_read(is_packed):
    reader = learn(make_request(IMAGE_HW, is_packed=is_packed), IMAGE_HW)
    other = IMAGE_HW[::-1] * 3
    read = reader.read(make_request(other, is_packed=is_packed))
    np.testing.assert_array_equal(read.inputs["x"], other)
    assert read.call == calls.Call("m")


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.bool_])
def test_values_of_any_plain_dtype_are_read(dtype):
    array = (IMAGE_HW.repeat(4) > 0).astype(dtype)
    other = (array == 0).astype(dtype)
    read = learn(make_request(array), array).read(make_request(other))
    assert read.inputs["x"].dtype == dtype
    np.testing.assert_array_equal(read.inputs["x"], other)


@pytest.mark.parametrize(
    "changed",
    [
        lambda body: body.replace(b"\x01m", b"\x01n", 1),
        lambda body: body[:-1],
        lambda body: body + b"\x1a\x00",
        lambda body: make_request(IMAGE_HW.T),
    ],
    ids=["another_model", "cut_off", "one_more_field", "another_shape"],
)
def test_request_that_differs_elsewhere_is_left_to_protobuf(changed):
    body = make_request(IMAGE_HW)
    assert learn(body, IMAGE_HW).read(changed(body)) is None


def test_values_that_stand_elsewhere_too_are_not_learned():
    zeros = np.zeros(16, np.float32)
    request = predict_pb2.PredictRequest.FromString(make_request(zeros))
    request.inputs["x"].tensor_content = zeros.tobytes()
    request.model_spec.name = "\0" * 64
    body = request.SerializeToString()
    assert body.find(zeros.tobytes()) < body.find(b"x") < body.rfind(zeros.tobytes())
    assert learn(body, zeros).read(body) is None


def test_many_kinds_of_requests_do_not_fill_the_memory():
    reader = predict_messages.RequestReader()
    for size in range(20, 200):
        array = np.arange(size, dtype=np.float32)
        parsed = predict_messages.Parsed(calls.Call("m"), {"x": array}, ())
        reader.learn(make_request(array), parsed)
    assert sum(map(len, reader._templates.values())) <= 64
    assert reader.read(make_request(np.zeros(199, np.float32))) is not None


OUTPUTS = {
    "floats": IMAGE_HW,
    "doubles": IMAGE_HW.astype(np.float64),
    "ids": np.array([[0, -1], [300, 2**62]], np.int64),
    "texts": np.array([b"", b"a" * 200], object),
    "halves": IMAGE_HW.astype(np.float16),
    "bytes": np.arange(5, dtype=np.uint8),
    "flags": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex64),
    "scalar": np.array(2.5, np.float32),
    "no_rows": np.zeros((0, 3), np.float32),
    "no_ids": np.zeros((0,), np.int64),
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("as_content", [False, True])
def test_response_is_what_tensorflow_reads_back(name, as_content):
    call = calls.Call("m", signature_name="s")
    body = predict_messages.encode_response(call, 7, {name: OUTPUTS[name]}, as_content=as_content)
    response = predict_pb2.PredictResponse.FromString(body)
    proto = response.outputs[name]
    np.testing.assert_array_equal(tf.make_ndarray(proto), OUTPUTS[name])
    assert proto.tensor_shape.dim == tf.TensorShape(OUTPUTS[name].shape).as_proto().dim
    assert bool(proto.tensor_content) == bool(as_content and name != "texts" and OUTPUTS[name].size)
    assert (response.model_spec.name, response.model_spec.version.value) == ("m", 7)
    assert response.model_spec.signature_name == "s"


def test_response_has_every_output_and_the_default_signature():
    call = calls.Call("m")
    body = predict_messages.encode_response(call, 1, OUTPUTS, as_content=False)
    response = predict_pb2.PredictResponse.FromString(body)
    assert set(response.outputs) == set(OUTPUTS)
    assert response.model_spec.signature_name == "serving_default"
