"""What Classify and Regress share: tf.Examples in, TF Serving's result messages out."""

from collections.abc import Mapping

import numpy as np
from tensorflow_serving.apis import classification_pb2, input_pb2, regression_pb2

from serving.server import errors, signature

_KINDS = {
    signature.CLASSIFY_METHOD: "classification",
    signature.REGRESS_METHOD: "regression",
}


def find_signature(
    signatures: Mapping[str, signature.Signature], name: str, method: str
) -> signature.Signature:
    """Returns the signature that takes serialized examples and has the method.

    Raises:
        ServingError: INVALID_ARGUMENT if there is none.
    """
    found = signatures.get(name)
    if found is None:
        raise errors.invalid(f"No signature was found with the name: {name}")
    if found.method_name != method:
        raise errors.invalid(
            f"Expected {_KINDS[method]} signature method_name to be {method}. "
            f"Was: {found.method_name}"
        )
    if len(found.inputs) != 1:
        raise errors.invalid("Expected one input Tensor.")
    return found


def serialize_examples(source: input_pb2.Input) -> np.ndarray:
    """Returns the examples as an object array of bytes, each with the shared context in front.

    Raises:
        ServingError: INVALID_ARGUMENT if there are none.
    """
    if source.WhichOneof("kind") == "example_list_with_context":
        context = source.example_list_with_context.context.SerializeToString()
        examples = source.example_list_with_context.examples
    else:
        context, examples = b"", source.example_list.examples
    if not examples:
        raise errors.invalid("Input is empty.")
    array = np.empty(len(examples), object)
    # Serialized messages merge when they are joined; the features of the later one win.
    array[:] = [context + example.SerializeToString() for example in examples]
    return array


def classification(
    outputs: Mapping[str, np.ndarray], num_examples: int
) -> classification_pb2.ClassificationResult:
    """Returns the result of a signature with the outputs `classes` or `scores`, or both.

    Args:
        outputs: Arrays of shape (num_examples, number of classes).
        num_examples: The examples that were run.

    Raises:
        ServingError: If the outputs are others, or of another shape.
    """
    tables = {name: outputs[name] for name in ("classes", "scores") if name in outputs}
    if not tables:
        raise errors.ServingError(
            errors.Code.FAILED_PRECONDITION,
            "Expected classification signature outputs to contain at least one of "
            f'"classes" or "scores". Signature was: {sorted(outputs)}',
        )
    for name, array in tables.items():
        _check_table(name, array, num_examples)
    widths = [array.shape[1] for array in tables.values()]
    if len(set(widths)) > 1:
        raise errors.invalid(
            f"Tensors class and score should match in dim_size(1). Got {widths[0]} vs. {widths[1]}"
        )
    result = classification_pb2.ClassificationResult()
    for row in range(num_examples):
        one = result.classifications.add()
        for column in range(widths[0]):
            each = one.classes.add()
            if "classes" in tables:
                each.label = tables["classes"][row, column].decode(errors="replace")
            if "scores" in tables:
                each.score = float(tables["scores"][row, column])
    return result


def regression(
    outputs: Mapping[str, np.ndarray], num_examples: int
) -> regression_pb2.RegressionResult:
    """Returns the result of a signature with the output `outputs`, one number for each example.

    Raises:
        ServingError: If it has no such output, or one of another shape.
    """
    values = outputs.get("outputs")
    if values is None:
        raise errors.ServingError(
            errors.Code.FAILED_PRECONDITION,
            'Expected regression signature outputs to contain "outputs". '
            f"Signature was: {sorted(outputs)}",
        )
    if values.shape not in ((num_examples,), (num_examples, 1)):
        raise errors.invalid(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"{signature.format_shape(values.shape)}"
        )
    result = regression_pb2.RegressionResult()
    for value in values.ravel().tolist():
        result.regressions.add(value=value)
    return result


def _check_table(name: str, array: np.ndarray, num_examples: int) -> None:
    if array.ndim != 2:
        raise errors.invalid(
            "Expected Tensor shape: [batch_size num_classes] but got "
            f"{signature.format_shape(array.shape)}"
        )
    if len(array) != num_examples:
        raise errors.invalid(
            f"Expected {name} output batch size of {num_examples}. Got: {len(array)}"
        )
