"""The few messages of TF Serving that a client needs, described here with its field numbers.

They live in a descriptor pool of their own, so that they do not clash with TensorFlow's in a
process
that has both. `float_val` and `double_val` are declared as bytes: a packed repeated field looks the
same on the wire, and bytes become an array without a loop.
"""

import functools
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    wrappers_pb2,
)

_Field = descriptor_pb2.FieldDescriptorProto
_INT32, _INT64 = _Field.TYPE_INT32, _Field.TYPE_INT64
_UINT32, _UINT64 = _Field.TYPE_UINT32, _Field.TYPE_UINT64
_BOOL, _STRING, _BYTES = _Field.TYPE_BOOL, _Field.TYPE_STRING, _Field.TYPE_BYTES
_FLOAT, _DOUBLE = _Field.TYPE_FLOAT, _Field.TYPE_DOUBLE

# Field -> (number, type or message name); a list around the type: repeated; a dict: a map from
# text.
_TENSORFLOW: dict[str, dict[str, tuple[int, Any]]] = {
    "TensorShapeProto.Dim": {"size": (1, _INT64), "name": (2, _STRING)},
    "TensorShapeProto": {
        "dim": (2, [".tensorflow.TensorShapeProto.Dim"]),
        "unknown_rank": (3, _BOOL),
    },
    "TensorProto": {
        "dtype": (1, _INT32),
        "tensor_shape": (2, ".tensorflow.TensorShapeProto"),
        "version_number": (3, _INT32),
        "tensor_content": (4, _BYTES),
        "float_val": (5, _BYTES),
        "double_val": (6, _BYTES),
        "int_val": (7, [_INT32]),
        "string_val": (8, [_BYTES]),
        "scomplex_val": (9, [_FLOAT]),
        "int64_val": (10, [_INT64]),
        "bool_val": (11, [_BOOL]),
        "dcomplex_val": (12, [_DOUBLE]),
        "half_val": (13, [_INT32]),
        "uint32_val": (16, [_UINT32]),
        "uint64_val": (17, [_UINT64]),
    },
    "TensorInfo": {
        "name": (1, _STRING),
        "dtype": (2, _INT32),
        "tensor_shape": (3, ".tensorflow.TensorShapeProto"),
    },
    "SignatureDef": {
        "inputs": (1, {".tensorflow.TensorInfo"}),
        "outputs": (2, {".tensorflow.TensorInfo"}),
        "method_name": (3, _STRING),
    },
}
_SERVING: dict[str, dict[str, tuple[int, Any]]] = {
    "ModelSpec": {
        "name": (1, _STRING),
        "version": (2, ".google.protobuf.Int64Value"),
        "signature_name": (3, _STRING),
        "version_label": (4, _STRING),
    },
    "PredictRequest": {
        "model_spec": (1, ".tensorflow.serving.ModelSpec"),
        "inputs": (2, {".tensorflow.TensorProto"}),
        "output_filter": (3, [_STRING]),
    },
    "PredictResponse": {
        "outputs": (1, {".tensorflow.TensorProto"}),
        "model_spec": (2, ".tensorflow.serving.ModelSpec"),
    },
    "SignatureDefMap": {"signature_def": (1, {".tensorflow.SignatureDef"})},
    "GetModelMetadataRequest": {
        "model_spec": (1, ".tensorflow.serving.ModelSpec"),
        "metadata_field": (2, [_STRING]),
    },
    "GetModelMetadataResponse": {
        "model_spec": (1, ".tensorflow.serving.ModelSpec"),
        "metadata": (2, {".google.protobuf.Any"}),
    },
    "StatusProto": {"error_code": (1, _INT32), "error_message": (2, _STRING)},
    "GetModelStatusRequest": {"model_spec": (1, ".tensorflow.serving.ModelSpec")},
    "ModelVersionStatus": {
        "version": (1, _INT64),
        "state": (2, _INT32),
        "status": (3, ".tensorflow.serving.StatusProto"),
    },
    "GetModelStatusResponse": {
        "model_version_status": (1, [".tensorflow.serving.ModelVersionStatus"])
    },
}


def new(name: str, /, **fields: Any) -> Any:
    """Returns a message by its name, such as `PredictRequest` or `TensorProto`.

    >>> new("ModelSpec", name="m").SerializeToString()
    b'\\n\\x01m'
    """
    return classes()[name](**fields)


@functools.cache
def classes() -> dict[str, Any]:
    """Returns every message class by its name without the package."""
    pool = descriptor_pool.DescriptorPool()
    imported = []
    for module in (any_pb2, wrappers_pb2):
        described = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(described)
        pool.Add(described)
        imported.append(described.name)
    tensorflow = _file("kerasline/tensorflow.proto", "tensorflow", [], _TENSORFLOW)
    serving = _file(
        "kerasline/serving.proto", "tensorflow.serving", [*imported, tensorflow.name], _SERVING
    )
    pool.Add(tensorflow)
    pool.Add(serving)
    found = message_factory.GetMessageClassesForFiles([tensorflow.name, serving.name], pool)
    return {
        name.removeprefix("tensorflow.").removeprefix("serving."): found[name] for name in found
    }


def _file(
    name: str,
    package: str,
    dependencies: list[str],
    described: dict[str, dict[str, tuple[int, Any]]],
) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name=name, package=package, syntax="proto3", dependency=dependencies
    )
    messages: dict[str, descriptor_pb2.DescriptorProto] = {}
    # An outer message comes before what is nested in it.
    for full_name in sorted(described, key=lambda each: each.count(".")):
        outer, _, inner = full_name.rpartition(".")
        nested_in = messages[outer].nested_type if outer else file.message_type
        messages[full_name] = nested_in.add(name=inner)
    for full_name, fields in described.items():
        for field_name, (number, kind) in fields.items():
            full = f".{package}.{full_name}"
            _add_field(messages[full_name], full, field_name, number, kind)
    return file


def _add_field(
    target: descriptor_pb2.DescriptorProto, full_name: str, name: str, number: int, kind: Any
) -> None:
    field = target.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if isinstance(kind, set):
        (value_type,) = kind
        # A map is a repeated message of key and value, named after the field.
        entry = target.nested_type.add(name=name.title().replace("_", "") + "Entry")
        entry.options.map_entry = True
        _add_field(entry, "", "key", 1, _STRING)
        _add_field(entry, "", "value", 2, value_type)
        kind = [f"{full_name}.{entry.name}"]
    if isinstance(kind, list):
        field.label = _Field.LABEL_REPEATED
        (kind,) = kind
    if isinstance(kind, str):
        field.type, field.type_name = _Field.TYPE_MESSAGE, kind
    else:
        field.type = kind
