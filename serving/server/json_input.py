"""REST request bodies to arrays, with TF Serving's rules and error texts."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from serving.server import errors, json_values, signature

Inputs = Mapping[str, signature.TensorInfo]


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a body that must be a JSON object; NaN, Infinity and -Infinity are numbers.

    Raises:
        ServingError: INVALID_ARGUMENT.

    >>> parse_object(b'{"instances": [1, -Infinity]}')
    {'instances': [1, -inf]}
    """
    if not body:
        raise errors.invalid("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        # Slower, but it knows the numbers that are not JSON.
        document = _parse_slowly(body)
    if not isinstance(document, dict):
        raise errors.invalid(f"JSON Value: {json_values.show(document)} Is not object")
    return document


def signature_name(document: Mapping[str, Any]) -> str:
    """Returns the `signature_name` of a request, or an empty text.

    Raises:
        ServingError: INVALID_ARGUMENT if it is not a text.
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise errors.invalid(
            f"JSON Value: {json_values.show(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return name


def predict_inputs(
    document: Mapping[str, Any], infos: Inputs, *, has_literals: bool
) -> tuple[dict[str, np.ndarray], bool]:
    """Returns the arrays of a predict request, and whether it is in row format.

    Args:
        document: The parsed body.
        infos: The signature's inputs.
        has_literals: Whether `true` or `false` may occur anywhere in it; if not, a fast path is
            safe.

    Raises:
        ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for a dtype that JSON cannot carry.
    """
    has_rows, has_columns = "instances" in document, "inputs" in document
    if has_rows and has_columns:
        raise errors.invalid(
            f"JSON Value: {json_values.show(document)} Not formatted correctly expecting only one "
            f"of 'inputs' "
            "or 'instances' keys to exist "
        )
    if has_columns:
        return _columns(document["inputs"], infos, has_literals), False
    if not has_rows:
        raise errors.invalid("Missing 'inputs' or 'instances' key")
    instances = document["instances"]
    if not isinstance(instances, list):
        raise errors.invalid(
            f"JSON Value: {json_values.show(document)} Excepting 'instances' to be an list/array"
        )
    if not instances:
        raise errors.invalid(
            f"JSON Value: {json_values.show(document)} No values in 'instances' array"
        )
    return _rows(instances, infos, has_literals), True


def _parse_slowly(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise errors.invalid(f"JSON Parse error: Invalid value. at offset: {error.pos}") from error
    except (UnicodeDecodeError, ValueError) as error:
        raise errors.invalid("JSON Parse error: Invalid encoding in string.") from error
    except RecursionError as error:
        raise errors.invalid("JSON Parse error: The document is nested too deeply.") from error


def _columns(value: Any, infos: Inputs, has_literals: bool) -> dict[str, np.ndarray]:
    if not isinstance(value, dict) or json_values.is_base64(value):
        if len(infos) > 1:
            raise errors.invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        value = {next(iter(infos)): value}
    arrays = {}
    for name, info in infos.items():
        if name not in value:
            raise errors.invalid(f"Missing named input: {name} in 'inputs' object.")
        arrays[name] = json_values.to_array(value[name], info, has_literals)
    return arrays


def _rows(instances: list[Any], infos: Inputs, has_literals: bool) -> dict[str, np.ndarray]:
    are_objects = _is_plain_object(instances[0])
    if not are_objects and len(infos) > 1:
        raise errors.invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    for index, item in enumerate(instances):
        if _is_plain_object(item) != are_objects:
            expected, got = ("object", "list") if are_objects else ("value/list", "object")
            raise errors.invalid(
                f"Expecting {expected} but got {got} at item {index} of input list"
            )
    if not are_objects:
        name, info = next(iter(infos.items()))
        return {name: _row_array(instances, info, has_literals, key="")}
    _check_keys(instances, set(infos))
    return {
        name: _row_array([item[name] for item in instances], info, has_literals, key=name)
        for name, info in infos.items()
    }


def _check_keys(instances: list[dict[str, Any]], names: set[str]) -> None:
    for index, item in enumerate(instances):
        unknown = [key for key in item if key not in names]
        if unknown:
            raise errors.invalid(
                f"Failed to process element: {index} key: {unknown[0]} of 'instances' list. Error: "
                f"INVALID_ARGUMENT: JSON object: does not have named input: {unknown[0]}"
            )
        if len(item) != len(names):
            raise errors.invalid(
                f"Failed to process element: {index} of 'instances' list. JSON object: "
                f"{json_values.show(item)} keys must be equal to: {','.join(sorted(names))}"
            )


def _row_array(
    items: list[Any], info: signature.TensorInfo, has_literals: bool, *, key: str
) -> np.ndarray:
    """Converts one input's rows; an error names the row that it is in."""
    array = None if has_literals else json_values.convert_numbers(items, info)
    if array is not None:
        return array
    rows = []
    for index, item in enumerate(items):
        try:
            rows.append(json_values.to_array(item, info, has_literals))
            _check_same_shape(rows[0], rows[-1])
        except errors.ServingError as error:
            place = f"{index} key: {key}" if key else str(index)
            raise errors.ServingError(
                error.code,
                f"Failed to process element: {place} of 'instances' list. Error: "
                f"{error.code.name}: {error.message}",
            ) from error
    return np.stack(rows)


def _check_same_shape(first: np.ndarray, array: np.ndarray) -> None:
    if first.size != array.size:
        raise errors.invalid(f"Expecting tensor size: {first.size} but got: {array.size}")
    if first.shape != array.shape:
        raise errors.invalid(
            f"Expecting shape {signature.format_shape(first.shape)} "
            f"but got: {signature.format_shape(array.shape)}"
        )


def _is_plain_object(value: Any) -> bool:
    return isinstance(value, dict) and not json_values.is_base64(value)
