"""Small SavedModels for the tests, equal to those that TF Serving's own tests use."""

import pathlib

import keras
import numpy as np
import tensorflow as tf

from serving.export import export

v1 = tf.compat.v1
_FLOAT_FEATURE = {"x": v1.FixedLenFeature([1], tf.float32, default_value=[0.0])}


def write_half_plus(directory: pathlib.Path, *, offset: float) -> pathlib.Path:
    """Writes a TF1 graph that answers y = x / 2 + offset, by tensors and by tf.Examples."""
    with v1.Graph().as_default(), v1.Session() as session:
        half = v1.get_variable("half", initializer=0.5)
        plus = v1.get_variable("plus", initializer=float(offset))
        examples = v1.placeholder(tf.string, name="tf_example")
        parsed_B1 = v1.parse_example(tf.reshape(examples, [-1]), _FLOAT_FEATURE)["x"]
        x = v1.placeholder(tf.float32, [None, 1], name="x")
        build = v1.saved_model.signature_def_utils.build_signature_def
        info = v1.saved_model.utils.build_tensor_info
        from_examples = info(half * parsed_B1 + plus)
        signatures = {
            "serving_default": build(
                {"x": info(x)}, {"y": info(half * x + plus)}, "tensorflow/serving/predict"
            ),
            "regress_x_to_y": build(
                {"inputs": info(examples)}, {"outputs": from_examples}, "tensorflow/serving/regress"
            ),
            "tensorflow/serving/regress": build(
                {"inputs": info(examples)}, {"outputs": from_examples}, "tensorflow/serving/regress"
            ),
            "classify_x_to_y": build(
                {"inputs": info(examples)}, {"scores": from_examples}, "tensorflow/serving/classify"
            ),
        }
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(directory))
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()
    return directory


class _Zoo(tf.Module):
    """Signatures with the kinds of tensors that an image classifier does not have."""

    def __init__(self):
        super().__init__()
        self.count = tf.Variable(0, dtype=tf.int64)

    @tf.function(input_signature=[])
    def count_up(self):
        return {"count": self.count.assign_add(1)}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, "a"),
            tf.TensorSpec([None], tf.int32, "b"),
        ]
    )
    def two(self, a, b):
        return {"sum": tf.reduce_sum(a, -1), "twice": b * 2}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def echo(self, text):
        return {"text": text, "text_bytes": text, "length": tf.strings.length(text)}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float64, "x")])
    def total(self, x):
        return {"total": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.bool, "x")])
    def negate(self, x):
        return {"y": tf.logical_not(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float16, "x")])
    def half(self, x):
        return {"y": x * 2}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def refuse_negative(self, x):
        with tf.control_dependencies([tf.debugging.assert_non_negative(x, "negative value")]):
            return {"y": tf.sqrt(x)}


def write_zoo(directory: pathlib.Path) -> pathlib.Path:
    """Writes a TF2 module with a counter, several inputs, texts, booleans and odd dtypes."""
    zoo = _Zoo()
    names = ("count_up", "two", "echo", "total", "negate", "half", "refuse_negative")
    tf.saved_model.save(
        zoo, str(directory), signatures={name: getattr(zoo, name) for name in names}
    )
    return directory


def make_classifier(seed: int = 1) -> keras.Model:
    """Returns an untrained convolutional classifier of 6x4 grey images into three classes."""
    keras.utils.set_random_seed(seed)
    image = keras.Input((6, 4, 1), name="image")
    scaled = keras.layers.Rescaling(1 / 255)(image)
    features = keras.layers.Conv2D(3, 3, activation="relu")(scaled)
    logits = keras.layers.Dense(3, name="logits")(keras.layers.Flatten()(features))
    return keras.Model(image, {"logits": logits})


def make_images(count: int) -> np.ndarray:
    """Returns random uint8 images of shape (count, 6, 4, 1)."""
    return np.random.default_rng(3).integers(0, 256, (count, 6, 4, 1), dtype=np.uint8)


def to_png(image_HWC: np.ndarray) -> bytes:
    """Returns an image as a PNG file."""
    return tf.io.encode_png(image_HWC).numpy()


def to_example(image_HWC: np.ndarray) -> bytes:
    """Returns a serialized tf.Example with a PNG file as its `image`."""
    image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[to_png(image_HWC)]))
    features = tf.train.Features(feature={"image": image})
    return tf.train.Example(features=features).SerializeToString()


def export_classifier(directory: pathlib.Path, model: keras.Model | None = None) -> pathlib.Path:
    """Exports a classifier as the pipeline does, with three classes and warm-up records."""
    return export.export_model(
        model or make_classifier(),
        directory,
        class_names=("cat", "dog", "Größe"),
        warmup_examples=[to_example(image) for image in make_images(2)],
    )
