"""Adapts the model check to TFX.

Legend: B batch, H height, W width, C channels, K classes.
"""

import concurrent.futures
import json
import posixpath
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.ingest.features import config
from components.model_check import compare, fresh_process, server
from serving.export import precision, preprocessing

# Where the trainer keeps the Keras model, within the Model artifact.
KERAS_MODEL_PATH = "Format-Keras/model.keras"
NUM_EXAMPLES = 200


class Executor(base_executor.BaseExecutor):
    """Stops the run unless the exported model answers as Keras did."""

    def Do(  # noqa: N802
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Compares on up to 200 examples, through each signature, and blesses the model.

        Raises:
            GateRefusedError: If an answer differs by more than 1e-5.
        """
        image = config.ImageFeature.from_dict(json.loads(exec_properties["image"]))
        label = config.LabelFeature.from_dict(json.loads(exec_properties["label"]))
        model_uri = artifact_utils.get_single_uri(input_dict["model"])
        split_uri = artifact_utils.get_split_uri(input_dict["examples"], exec_properties["split"])
        examples_B = _first_examples(split_uri)
        encoded_B = _encoded_images(examples_B, config.IMAGE_FEATURE)
        images_BHWC = preprocessing.decode_images(
            encoded_B, height_px=image.height_px, width_px=image.width_px, channels=image.channels
        ).numpy()
        request = {
            "model_dir": path_utils.serving_model_path(model_uri),
            "inputs": {
                "serving_default": images_BHWC.tolist(),
                "serve_bytes": fresh_process.encode_strings(encoded_B.numpy().tolist()),
                "serve_examples": fresh_process.encode_strings(examples_B),
            },
        }
        keras_path = posixpath.join(model_uri, KERAS_MODEL_PATH)
        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
            # Keras answers while the fresh process does.
            expected = pool.submit(_keras_answers, keras_path, images_BHWC)
            answers = server.ask(request)
        largest = compare.check_answers(answers, expected.result(), label.class_names)
        blessing = artifact_utils.get_single_instance(output_dict["blessing"])
        blessing.set_int_custom_property("blessed", 1)
        blessing.set_float_custom_property("largest_difference", largest)


def _first_examples(split_uri: str) -> list[bytes]:
    files = sorted(tf.io.gfile.glob(posixpath.join(split_uri, "*")))
    records = tf.data.TFRecordDataset(files).take(NUM_EXAMPLES)
    return list(records.as_numpy_iterator())


def _encoded_images(examples_B: list[bytes], feature_name: str) -> tf.Tensor:
    features = {feature_name: tf.io.FixedLenFeature((), tf.string)}
    return tf.io.parse_example(tf.constant(examples_B), features)[feature_name]


def _keras_answers(model_path: str, images_BHWC: np.ndarray) -> np.ndarray:
    # The export is in float32 too, whatever the model was trained in.
    model = precision.to_float32(keras.saving.load_model(model_path, compile=False))
    logits_BK = model(images_BHWC, training=False)["logits"]
    return keras.ops.convert_to_numpy(keras.ops.softmax(logits_BK))
