"""Warm-up records: requests that a server replays when it loads a model, before the first user's.

The file is TF Serving's: `assets.extra/tf_serving_warmup_requests`, a TFRecord file of
PredictionLog.
"""

import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_log_pb2

from serving.export import saved_model_file

WARMUP_PATH = pathlib.PurePosixPath("assets.extra/tf_serving_warmup_requests")
MAX_RECORDS = 1_000  # TF Serving refuses to load a model with more.


def write_warmup(
    model_dir: pathlib.Path, requests: Sequence[tuple[str, Mapping[str, np.ndarray]]]
) -> None:
    """Writes the warm-up records of a SavedModel, each checked against its signature.

    Args:
        model_dir: A SavedModel folder.
        requests: Pairs of a signature name and its inputs by name; at most 1,000.

    Raises:
        ValueError: If there are too many, or one names an unknown signature or does not fit its
            inputs.
    """
    if len(requests) > MAX_RECORDS:
        raise ValueError(
            f"There must be at most {MAX_RECORDS} warm-up requests. Received: "
            f"len(requests)={len(requests)}."
        )
    signatures = saved_model_file.read_signatures(model_dir)
    for signature_name, inputs in requests:
        _check_request(signatures, signature_name, inputs)
    path = model_dir / WARMUP_PATH
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature_name, inputs in requests:
            writer.write(_prediction_log(signature_name, inputs).SerializeToString())


def _prediction_log(
    signature_name: str, inputs: Mapping[str, np.ndarray]
) -> prediction_log_pb2.PredictionLog:
    request = predict_pb2.PredictRequest(
        model_spec=model_pb2.ModelSpec(signature_name=signature_name),
        inputs={name: tf.make_tensor_proto(value) for name, value in inputs.items()},
    )
    return prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )


def _check_request(
    signatures: Mapping[str, meta_graph_pb2.SignatureDef],
    signature_name: str,
    inputs: Mapping[str, np.ndarray],
) -> None:
    if signature_name not in signatures:
        raise ValueError(
            "A warm-up request must name a signature of the model. "
            f"Received: signature_name={signature_name!r}; the model has {sorted(signatures)}."
        )
    expected = signatures[signature_name].inputs
    if set(inputs) != set(expected):
        raise ValueError(
            f"A warm-up request for {signature_name!r} must have the inputs {sorted(expected)}. "
            f"Received: inputs={sorted(inputs)}."
        )
    for name, value in inputs.items():
        spec = saved_model_file.tensor_spec(expected[name])
        fits = spec.shape.is_compatible_with(value.shape) and spec.dtype == tf.as_dtype(value.dtype)
        if not fits:
            raise ValueError(
                f"Input {name!r} of a warm-up request for {signature_name!r} must have shape "
                f"{spec.shape} and "
                f"dtype {spec.dtype.name}. Received: shape={value.shape}, dtype={value.dtype}."
            )
