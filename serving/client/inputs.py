"""What callers may pass, to the arrays that a signature takes; checked before anything is sent."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.client import tensors


def convert(inputs: Any, signature: tensors.Signature) -> dict[str, np.ndarray]:
    """Returns the arrays for a signature.

    Args:
        inputs: A dict from input names, or the value itself if the signature has one input. A value
            is a numpy array, a number, a text, bytes, a PIL image, a tf.Example or another message,
            or a list of these. One image, text, bytes or message is a batch of one where the
            signature wants a batch.
        signature: The signature to fit.

    Raises:
        ValueError: If a name, a dtype or a shape does not fit.
    """
    if not isinstance(inputs, Mapping):
        if len(signature.inputs) != 1:
            raise ValueError(
                "The signature has several inputs, so that they must be a dict. "
                f"Received: {type(inputs).__name__}; the names are {list(signature.inputs)}."
            )
        inputs = {next(iter(signature.inputs)): inputs}
    if set(inputs) != set(signature.inputs):
        raise ValueError(
            f"The inputs must be {sorted(signature.inputs)}. Received: {sorted(inputs)}."
        )
    return {name: _convert_one(name, inputs[name], signature.inputs[name]) for name in inputs}


def _convert_one(name: str, value: Any, spec: tensors.TensorSpec) -> np.ndarray:
    is_string = spec.dtype.kind == "O"
    array = _to_strings(name, value) if is_string else _to_numbers(name, value, spec)
    if spec.shape is not None and array.ndim == len(spec.shape) - 1 and _is_single(value):
        array = array[None]
    if not _fits(array.shape, spec.shape):
        raise ValueError(
            f"Input {name!r} must have shape {spec.shape}. Received: shape={array.shape}."
        )
    return array


def _is_single(value: Any) -> bool:
    return isinstance(value, (bytes, str)) or _is_image(value) or _is_message(value)


def _is_image(value: Any) -> bool:
    # By what it can do, because Pillow need not be installed.
    return hasattr(value, "save") and hasattr(value, "getbands")


def _is_message(value: Any) -> bool:
    return hasattr(value, "SerializeToString")


def _to_strings(name: str, value: Any) -> np.ndarray:
    if isinstance(value, (list, tuple)):
        rows = [_to_strings(name, item) for item in value]
        if len({row.shape for row in rows}) > 1:
            raise ValueError(f"The rows of input {name!r} must have one shape.")
        array = np.empty((len(rows), *(rows[0].shape if rows else ())), object)
        for index, row in enumerate(rows):
            array[index] = row if row.ndim else row.item()
        return array
    if isinstance(value, np.ndarray):
        return _to_strings(name, value.tolist())
    array = np.empty((), object)
    array[()] = _to_bytes(name, value)
    return array


def _to_bytes(name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if _is_message(value):
        serialized: bytes = value.SerializeToString()
        return serialized
    if _is_image(value):
        stream = io.BytesIO()
        value.save(stream, "PNG")
        return stream.getvalue()
    raise ValueError(
        f"Input {name!r} takes bytes, texts, images or messages. Received: {type(value).__name__}."
    )


def _to_numbers(name: str, value: Any, spec: tensors.TensorSpec) -> np.ndarray:
    rank = None if spec.shape is None else len(spec.shape)
    if _is_image(value):
        array = _image_pixels(value, rank)
    elif isinstance(value, (list, tuple)) and value and all(_is_image(item) for item in value):
        array = np.stack([_image_pixels(item, rank) for item in value])
    else:
        array = np.asarray(value)
    if array.size == 0 or array.dtype == spec.dtype:
        return array.astype(spec.dtype, copy=False)
    if not _is_safe(array, spec.dtype):
        raise ValueError(
            f"Input {name!r} must have dtype {spec.dtype.name}, or values that it holds exactly. "
            f"Received: dtype={array.dtype.name}."
        )
    return array.astype(spec.dtype)


def _image_pixels(image: Any, batch_rank: int | None) -> np.ndarray:
    pixels = np.asarray(image)
    if batch_rank is not None and pixels.ndim == batch_rank - 2:
        pixels = pixels[..., None]  # A grey image has no channel axis of its own.
    return pixels


def _is_safe(array: np.ndarray, dtype: np.dtype) -> bool:
    """Floats may lose digits; anything else must keep its value."""
    if array.dtype.kind in "iuf" and dtype.kind == "f":
        return True
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return bool(bounds.min <= array.min() and array.max() <= bounds.max)
    return bool(np.can_cast(array.dtype, dtype, "safe"))


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...] | None) -> bool:
    if expected is None:
        return True
    return len(shape) == len(expected) and all(
        want is None or size == want for size, want in zip(shape, expected, strict=True)
    )
