"""A SavedModel's signature, and the checks that come before the graph runs."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Set

import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.framework import dtypes

from serving.server import errors

PREDICT_METHOD = "tensorflow/serving/predict"
CLASSIFY_METHOD = "tensorflow/serving/classify"
REGRESS_METHOD = "tensorflow/serving/regress"


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """One input or output of a signature."""

    graph_name: str  # Such as "x:0".
    dtype_number: int  # types_pb2.DataType
    dtype: np.dtype
    shape: tuple[int | None, ...] | None  # None: unknown rank; None inside: any size.

    @property
    def dtype_name(self) -> str:
        """The name in TensorFlow's messages, such as `float` or `string`."""
        return types_pb2.DataType.Name(self.dtype_number).removeprefix("DT_").lower()


@dataclasses.dataclass(frozen=True)
class Signature:
    """A function of a SavedModel, with its tensors in the order of their names."""

    name: str
    method_name: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    # Names of inputs that may be left out, because the model stores a value for them.
    default_inputs: Mapping[str, np.ndarray]
    is_shape_checked: bool

    @functools.cached_property
    def is_batchable(self) -> bool:
        """Whether rows may be joined: every tensor has a free first dimension."""
        tensors = [*self.inputs.values(), *self.outputs.values()]
        has_free_rows = all(info.shape and info.shape[0] is None for info in tensors)
        return bool(self.inputs) and has_free_rows and not self.default_inputs


def from_signature_def(
    name: str,
    definition: meta_graph_pb2.SignatureDef,
    default_inputs: Mapping[str, np.ndarray],
    *,
    is_shape_checked: bool,
) -> Signature:
    """Reads a signature from its definition in a SavedModel."""
    return Signature(
        name=name,
        method_name=definition.method_name,
        inputs=_tensors(definition.inputs),
        outputs=_tensors(definition.outputs),
        default_inputs=default_inputs,
        is_shape_checked=is_shape_checked,
    )


def check_input_names(signature: Signature, names: Set[str]) -> None:
    """Compares the names of a request's inputs with the signature's.

    Raises:
        ServingError: INVALID_ARGUMENT, in TF Serving's words.
    """
    if signature.inputs.keys() == names:
        return
    sent, known = set(names), set(signature.inputs)
    required = known - set(signature.default_inputs)
    if sent <= known and required <= sent:
        return
    raise errors.invalid(
        f"input size does not match signature: {len(sent)}!={len(known)} "
        f"len({{{_join(sent)}}}) != len({{{_join(known)}}}). "
        f"Sent extra: {{{_join(sent - known)}}}. Missing but required: "
        f"{{{_join(required - sent)}}}."
    )


def check_input(signature: Signature, name: str, array: np.ndarray) -> np.ndarray:
    """Compares an input's dtype and, where the model's shapes can be trusted, its shape.

    A tensor of the wrong rank aborts the whole process in some kernels of oneDNN, so that this
    check
    must come before the graph runs.

    Returns:
        `array`.

    Raises:
        ServingError: INVALID_ARGUMENT if the array does not fit.
    """
    info = signature.inputs[name]
    if array.dtype != info.dtype:
        raise errors.invalid(
            f'Input "{name}" of signature "{signature.name}" must have dtype {info.dtype_name}. '
            f"Received: dtype={dtypes.as_dtype(array.dtype).name}."
        )
    if signature.is_shape_checked and not _fits(array.shape, info.shape):
        raise errors.invalid(
            f'Input "{name}" of signature "{signature.name}" must have shape '
            f"{format_shape(info.shape)}. Received: shape={format_shape(array.shape)}."
        )
    return array


def format_shape(shape: tuple[int | None, ...] | None) -> str:
    """Returns a shape as TensorFlow writes it.

    >>> format_shape((None, 28, 28))
    '[?,28,28]'
    """
    if shape is None:
        return "[...]"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def _tensors(infos: Mapping[str, meta_graph_pb2.TensorInfo]) -> dict[str, TensorInfo]:
    return {name: _tensor_info(infos[name]) for name in sorted(infos)}


def _tensor_info(info: meta_graph_pb2.TensorInfo) -> TensorInfo:
    shape = None
    if not info.tensor_shape.unknown_rank:
        shape = tuple(None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim)
    return TensorInfo(
        graph_name=info.name,
        dtype_number=info.dtype,
        dtype=np.dtype(dtypes.as_dtype(info.dtype).as_numpy_dtype),
        shape=shape,
    )


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...] | None) -> bool:
    if expected is None:
        return True
    if len(shape) != len(expected):
        return False
    # No generator: this is asked for each request.
    for size, want in zip(shape, expected, strict=True):
        if want is not None and size != want:
            return False
    return True


def _join(names: Iterable[str]) -> str:
    return ",".join(sorted(names))
