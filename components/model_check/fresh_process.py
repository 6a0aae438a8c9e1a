"""Serves a SavedModel once, in a process that holds TensorFlow and nothing of the training.

`python -m components.model_check.fresh_process` reads one JSON request from standard input and
writes one JSON answer to the last line of standard output. It cannot import Keras: a model that
needs it would fail in TF Serving too.
"""

import base64
import json
import sys
from typing import Any

# Signature -> name of its input, as the export writes them.
SIGNATURE_INPUTS = {
    "serving_default": "image",
    "serve_bytes": "image_bytes",
    "serve_examples": "examples",
}


def main() -> None:
    """Imports TensorFlow, which takes seconds, waits for the request, and answers it."""
    sys.modules["keras"] = None  # type: ignore[assignment]
    import tensorflow as tf

    line = sys.stdin.readline()
    # Standard input ends without a request when the run stops before the model check.
    if line:
        print(json.dumps(_answer(tf, json.loads(line))))


def encode_strings(values_B: list[bytes]) -> list[str]:
    """Makes bytes fit for JSON."""
    return [base64.b64encode(value).decode() for value in values_B]


def _answer(tf: Any, request: dict[str, Any]) -> dict[str, Any]:
    model = tf.saved_model.load(request["model_dir"])
    return {
        name: _call(tf, model.signatures, name, request["inputs"][name])
        for name in SIGNATURE_INPUTS
    }


def _call(tf: Any, signatures: Any, name: str, values: list[Any]) -> dict[str, Any]:
    if name not in signatures:
        return {"error": f"is missing; the model has {sorted(signatures)}"}
    input_name = SIGNATURE_INPUTS[name]
    spec = signatures[name].structured_input_signature[1].get(input_name)
    if spec is None:
        return {"error": f"has no input {input_name!r}"}
    if spec.dtype == tf.string:
        values = [base64.b64decode(value) for value in values]
    outputs = signatures[name](**{input_name: tf.constant(values, dtype=spec.dtype)})
    return {
        "probabilities": outputs["probabilities"].numpy().tolist(),
        "class_ids": outputs["class_ids"].numpy().tolist(),
        "classes": [value.decode() for value in outputs["classes"].numpy()],
    }


if __name__ == "__main__":
    main()
