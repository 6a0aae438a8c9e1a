"""The bodies of classify and regress requests: JSON objects to tf.Examples."""

from typing import Any

from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow_serving.apis import input_pb2

from serving.server import errors, json_values


def parse_examples(document: dict[str, Any], into: input_pb2.Input) -> None:
    """Fills the `input` of a classify or regress request.

    Whole numbers become int64 features and others float, as TF Serving reads them; `context` is
    shared by all examples.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    examples = document.get("examples")
    if "examples" not in document:
        raise errors.invalid(
            "When method is classify, key 'examples' is expected and was not found"
        )
    if not isinstance(examples, list):
        raise errors.invalid("Expecting 'examples' value to be an list/array")
    if not examples:
        raise errors.invalid("'examples' value is an empty array")
    if "context" in document:
        target = into.example_list_with_context
        _fill_example(document["context"], target.context)
    else:
        target = into.example_list
    for example in examples:
        _fill_example(example, target.examples.add())


def _fill_example(value: Any, example: example_pb2.Example) -> None:
    if not isinstance(value, dict):
        raise errors.invalid(f"Example must be JSON object but got JSON {_json_type(value)}")
    # An example without features is still an example.
    example.features.SetInParent()
    for name, content in value.items():
        feature = example.features.feature[name]
        for item in content if isinstance(content, list) else [content]:
            _add_value(item, name, feature)


def _add_value(value: Any, name: str, feature: feature_pb2.Feature) -> None:
    if isinstance(value, str):
        _check_kind(feature, "bytes_list", name)
        feature.bytes_list.value.append(value.encode())
    elif json_values.is_base64(value):
        _check_kind(feature, "bytes_list", name)
        feature.bytes_list.value.append(json_values.decode_base64(value))
    elif isinstance(value, int):
        _check_kind(feature, "int64_list", name)
        if not -(2**63) <= value < 2**63:
            raise errors.invalid(f"Feature: {name} has uint64 element. Only int64 is supported.")
        feature.int64_list.value.append(value)
    elif isinstance(value, float):
        _check_kind(feature, "float_list", name)
        feature.float_list.value.append(value)
    else:
        raise errors.invalid(
            f"Feature: {name} has element with unexpected JSON type: {_json_type(value)}"
        )


def _check_kind(feature: feature_pb2.Feature, kind: str, name: str) -> None:
    current = feature.WhichOneof("kind")
    if current not in (None, kind):
        expected = current.removesuffix("_list")
        raise errors.invalid(
            f"Unexpected element type in feature: {name} expecting type: {expected}"
        )


def _json_type(value: Any) -> str:
    names = {type(None): "Null", dict: "Object", list: "Array", str: "String", bool: str(value)}
    return names.get(type(value), "Number")
