"""Adapts the model check to TFX.

Legend: B batch, K classes.
"""

import concurrent.futures
import json
import pathlib
import posixpath
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tfx import types
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.ingest import config
from components.input_pipeline import decoding
from components.model_check import compare, fresh_process, server
from components.transform import fitted, served
from serving.export import entries, precision

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
        data = config.DataConfig.from_dict(json.loads(exec_properties["data"]))
        model_uri = artifact_utils.get_single_uri(input_dict["model"])
        split_uri = artifact_utils.get_split_uri(input_dict["examples"], exec_properties["split"])
        examples_B = tf.constant(_first_examples(split_uri))
        keras_path = pathlib.Path(model_uri, KERAS_MODEL_PATH)
        learned = fitted.read_if_there(keras_path.parent)
        request = {
            "model_dir": path_utils.serving_model_path(model_uri),
            "inputs": _requests(served.served_input(data, learned), examples_B),
        }
        decode = decoding.Decoder(data, learned)
        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
            # Keras answers while the fresh process does.
            expected = pool.submit(_keras_answers, keras_path, decode(examples_B)[0])
            answers = server.ask(request)
        largest = _check(answers, expected.result(), data)
        blessing = artifact_utils.get_single_instance(output_dict["blessing"])
        # By this id, `PassedModelStrategy` knows whose blessing it is.
        model = artifact_utils.get_single_instance(input_dict["model"])
        blessing.set_int_custom_property("current_model_id", model.id)
        blessing.set_int_custom_property("blessed", 1)
        blessing.set_float_custom_property("largest_difference", largest)


def _check(
    answers: Mapping[str, Mapping[str, Any]], expected: np.ndarray, data: config.DataConfig
) -> float:
    if data.predicts_numbers:
        return compare.check_predictions(answers, expected)
    return compare.check_answers(answers, expected, data.class_names)


def _first_examples(split_uri: str) -> list[bytes]:
    files = sorted(tf.io.gfile.glob(posixpath.join(split_uri, "*")))
    records = tf.data.TFRecordDataset(files).take(NUM_EXAMPLES)
    return list(records.as_numpy_iterator())


def _requests(
    served_input: entries.ServedInput, examples_B: tf.Tensor
) -> dict[str, dict[str, list[Any]]]:
    return {
        signature: {
            name: fresh_process.encode(values.numpy())
            for name, values in entry.of_examples(examples_B).items()
        }
        for signature, entry in served_input.entries.items()
    }


def _keras_answers(model_path: pathlib.Path, inputs: Any) -> np.ndarray:
    # The export is in float32 too, whatever the model was trained in.
    model = precision.to_float32(keras.saving.load_model(model_path, compile=False))
    outputs = model(inputs, training=False)
    if "predictions" in outputs:
        return keras.ops.convert_to_numpy(outputs["predictions"])
    return keras.ops.convert_to_numpy(keras.ops.softmax(outputs["logits"]))
