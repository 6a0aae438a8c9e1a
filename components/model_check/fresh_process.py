"""Serves a SavedModel once, in a process that holds TensorFlow and nothing of the training.

`python -m components.model_check.fresh_process` reads one JSON request from standard input and
writes one JSON answer to the last line of standard output. It cannot import Keras: a model that
needs it would fail in TF Serving too.
"""

import base64
import json
import sys
from typing import Any


def main() -> None:
    """Imports TensorFlow, which takes seconds, waits for the request, and answers it."""
    sys.modules["keras"] = None  # type: ignore[assignment]
    import tensorflow as tf

    line = sys.stdin.readline()
    # Standard input ends without a request when the run stops before the model check.
    if line:
        print(json.dumps(_answer(tf, json.loads(line))))


def encode(values: Any) -> list[Any]:
    """Makes an array fit for JSON; strings are bytes, which JSON cannot hold.

    Args:
        values: A NumPy array; one of strings has the shape (B,).
    """
    if values.dtype == object:
        return [base64.b64encode(value).decode() for value in values]
    items: list[Any] = values.tolist()
    return items


def _answer(tf: Any, request: dict[str, Any]) -> dict[str, Any]:
    model = tf.saved_model.load(request["model_dir"])
    return {
        name: _call(tf, model.signatures, name, inputs)
        for name, inputs in request["inputs"].items()
    }


def _call(tf: Any, signatures: Any, name: str, inputs: dict[str, list[Any]]) -> dict[str, Any]:
    if name not in signatures:
        return {"error": f"is missing; the model has {sorted(signatures)}"}
    specs = signatures[name].structured_input_signature[1]
    if missing := sorted(inputs.keys() - specs.keys()):
        return {"error": f"has no input {missing[0]!r}"}
    tensors = {name: _tensor(tf, values, specs[name].dtype) for name, values in inputs.items()}
    outputs = signatures[name](**tensors)
    return {name: _items(values.numpy()) for name, values in outputs.items()}


def _items(values: Any) -> list[Any]:
    if values.dtype == object:
        return [value.decode() for value in values]
    items: list[Any] = values.tolist()
    return items


def _tensor(tf: Any, values: list[Any], dtype: Any) -> Any:
    if dtype == tf.string:
        values = [base64.b64decode(value) for value in values]
    return tf.constant(values, dtype=dtype)


if __name__ == "__main__":
    main()
