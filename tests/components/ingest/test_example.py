import numpy as np
import pytest
import tensorflow as tf

from components.ingest import example


def tf_example(image: bytes, key: bytes, label: int) -> tf.train.Example:
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "key": tf.train.Feature(bytes_list=tf.train.BytesList(value=[key])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


@pytest.mark.parametrize("label", [0, 9, 127, 128, 300, 2**40])
@pytest.mark.parametrize("image_bytes", [0, 1, 127, 128, 20_000])
def test_encoded_row_has_the_bytes_that_tensorflow_writes(label, image_bytes):
    image = bytes(index % 251 for index in range(image_bytes))
    expected = tf_example(image, b"train/7", label).SerializeToString(deterministic=True)
    assert example.encode_example({"image": image, "key": b"train/7", "label": label}) == expected


def test_every_kind_of_value_has_the_bytes_that_tensorflow_writes():
    values = {
        "a_name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x" * 200])),
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b""])),
        "count": tf.train.Feature(int64_list=tf.train.Int64List(value=[-3])),
        "numbers": tf.train.Feature(int64_list=tf.train.Int64List(value=[300, -(2**63)])),
        "size": tf.train.Feature(float_list=tf.train.FloatList(value=[0.1])),
        "pair": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -2.0])),
        "history": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.5])),
        "no_name": tf.train.Feature(),
        "nothing": tf.train.Feature(),
        "größe": tf.train.Feature(int64_list=tf.train.Int64List(value=[1])),
    }
    message = tf.train.Example(features=tf.train.Features(feature=values))
    ours = example.encode_example(
        {
            "a_name": b"x" * 200,
            "words": [b"a", b""],
            "count": -3,
            "numbers": [300, -(2**63)],
            "size": 0.1,
            "pair": [0.5, -2],
            "history": np.array([1.0, 2.5]),
            "no_name": None,
            "nothing": [],
            "größe": 1,
        }
    )
    assert ours == message.SerializeToString(deterministic=True)


def test_a_list_of_unlike_values_is_refused():
    with pytest.raises(TypeError, match=r"the feature mixed to be .* alike. Received: \[1, b'2'\]"):
        example.encode_example({"mixed": [1, b"2"]})


def test_decoding_reads_every_kind_of_feature_that_tensorflow_writes():
    features = {
        "names": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b""])),
        "counts": tf.train.Feature(int64_list=tf.train.Int64List(value=[0, 300, -1, -(2**63)])),
        "sizes": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -2.0])),
        "nothing": tf.train.Feature(),
    }
    message = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    assert example.decode_example(message) == {
        "names": [b"a", b""],
        "counts": [0, 300, -1, -(2**63)],
        "sizes": [0.5, -2.0],
        "nothing": [],
    }


def test_decoding_a_message_cut_short_says_so():
    message = tf_example(b"image", b"key", 3).SerializeToString()
    with pytest.raises(ValueError, match=r"the message ends early"):
        example.decode_example(message[:-3])
