"""TF Serving's text-proto config files that `tensorflow-serving-api` has no classes for.

The messages are described here with TF Serving's names and field numbers, in a descriptor pool of
their own.
"""

import functools
import pathlib
from typing import Any, TypeVar

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message,
    message_factory,
    text_format,
    wrappers_pb2,
)

_Message = TypeVar("_Message", bound=message.Message)
_PACKAGE = "tensorflow.serving"
_Field = descriptor_pb2.FieldDescriptorProto
_INT64_VALUE = ".google.protobuf.Int64Value"
_STRING_VALUE = ".google.protobuf.StringValue"
_BOOL_VALUE = ".google.protobuf.BoolValue"

# Message -> field -> (number, type or message type, is it repeated).
_MESSAGES: dict[str, dict[str, tuple[int, int | str, bool]]] = {
    "BatchingParameters": {
        "max_batch_size": (1, _INT64_VALUE, False),
        "batch_timeout_micros": (2, _INT64_VALUE, False),
        "max_enqueued_batches": (3, _INT64_VALUE, False),
        "num_batch_threads": (4, _INT64_VALUE, False),
        "thread_pool_name": (5, _STRING_VALUE, False),
        "allowed_batch_sizes": (6, _Field.TYPE_INT64, True),
        "pad_variable_length_inputs": (7, _Field.TYPE_BOOL, False),
        "enable_large_batch_splitting": (8, _BOOL_VALUE, False),
        "max_execution_batch_size": (9, _INT64_VALUE, False),
    },
    "PrometheusConfig": {
        "enable": (1, _Field.TYPE_BOOL, False),
        "path": (2, _Field.TYPE_STRING, False),
    },
    "MonitoringConfig": {
        "prometheus_config": (1, f".{_PACKAGE}.PrometheusConfig", False),
    },
    "SSLConfig": {
        "server_key": (1, _Field.TYPE_STRING, False),
        "server_cert": (2, _Field.TYPE_STRING, False),
        "custom_ca": (3, _Field.TYPE_STRING, False),
        "client_verify": (4, _Field.TYPE_BOOL, False),
    },
}


class TextProtoError(ValueError):
    """A config file is not a text proto of the expected message."""


def parse_file(path: pathlib.Path, into: _Message) -> _Message:
    """Reads a text-proto file into a message, and returns it.

    Raises:
        TextProtoError: If the file cannot be read or parsed; the message names the line.
    """
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), into)
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise TextProtoError(
            f"The file must be a text proto of {into.DESCRIPTOR.full_name}. "
            f"Received: path={path}, error={error}."
        ) from error


def new_message(name: str) -> Any:
    """Returns an empty message: BatchingParameters, MonitoringConfig or SSLConfig.

    >>> new_message("MonitoringConfig").prometheus_config.enable
    False
    """
    return _classes()[f"{_PACKAGE}.{name}"]()


@functools.cache
def _classes() -> dict[str, type[message.Message]]:
    pool = descriptor_pool.DescriptorPool()
    wrappers = descriptor_pb2.FileDescriptorProto()
    wrappers_pb2.DESCRIPTOR.CopyToProto(wrappers)
    file = descriptor_pb2.FileDescriptorProto(
        name="kerasline/server_config.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[wrappers.name],
    )
    for message_name, fields in _MESSAGES.items():
        described = file.message_type.add(name=message_name)
        for name, (number, kind, is_repeated) in fields.items():
            label = _Field.LABEL_REPEATED if is_repeated else _Field.LABEL_OPTIONAL
            field = described.field.add(name=name, number=number, label=label)
            if isinstance(kind, str):
                field.type, field.type_name = _Field.TYPE_MESSAGE, kind
            else:
                field.type = kind
    pool.Add(wrappers)
    pool.Add(file)
    return message_factory.GetMessageClassesForFiles([file.name], pool)
