import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from serving.server import errors, tensor_codec

DTYPES = [
    np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128,
]  # fmt: skip


def sample(dtype, size=40):
    return np.arange(-3, size - 3).astype(dtype).reshape(2, -1)


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensorflow_reads_what_is_encoded(dtype, as_content):
    proto = tensor_codec.encode(sample(dtype), as_content=as_content)
    assert bool(proto.tensor_content) == as_content
    np.testing.assert_array_equal(tf.make_ndarray(proto), sample(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensorflows_encoding_is_read(dtype):
    proto = tf.make_tensor_proto(sample(dtype))
    np.testing.assert_array_equal(tensor_codec.decode(proto, name="x"), sample(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_typed_fields_are_read(dtype):
    proto = tensor_codec.encode(sample(dtype), as_content=False)
    received = tensor_codec.decode(proto, name="x")
    assert received.dtype == sample(dtype).dtype
    np.testing.assert_array_equal(received, sample(dtype))


def test_strings_go_both_ways():
    texts = np.array([b"", b"\xff\0", "ß".encode()], object)
    proto = tensor_codec.encode(texts, as_content=True)
    assert tensor_codec.decode(proto, name="x").tolist() == texts.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_tensors_keep_their_shape(shape):
    proto = tensor_codec.encode(np.zeros(shape, np.float32), as_content=False)
    assert tensor_codec.decode(proto, name="x").shape == shape
    assert tf.make_ndarray(proto).shape == shape


def test_last_value_is_repeated_as_tensorflow_does():
    proto = tf.make_tensor_proto(1.5, shape=[2, 3])
    assert len(proto.float_val) == 1
    np.testing.assert_array_equal(tensor_codec.decode(proto, name="x"), np.full((2, 3), 1.5))


def make_proto(dtype=1, shape=(2,), **values):
    proto = tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize(
    "proto, message",
    [
        (make_proto(dtype=20), 'Input "x" has a dtype that cannot be fed. Received: dtype=20'),
        (make_proto(shape=[-1]), r"known shape .* Received: shape=\[-1\]"),
        (make_proto(shape=[2**40, 2**40]), "known shape of fewer than"),
        (make_proto(shape=[2**62, 2**62, 0]), "known shape of fewer than"),
        (make_proto(float_val=[1, 2, 3]), "must have 2 values. Received: 3"),
        (make_proto(), "must have 2 values. Received: 0"),
        (make_proto(shape=[2**30], float_val=[1]), "must have 1073741824 values. Received: 1"),
        (make_proto(tensor_content=b"123"), "must have 8 bytes of tensor_content. Received: 3"),
        (make_proto(dtype=7, tensor_content=b"123"), "must hold its strings in string_val"),
    ],
)
def test_what_does_not_fit_is_refused(proto, message):
    with pytest.raises(errors.ServingError, match=message):
        tensor_codec.decode(proto, name="x")
