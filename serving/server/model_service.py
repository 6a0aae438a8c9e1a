"""Model status, metadata and configuration, apart from REST and gRPC."""

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf import message as protobuf_message
from tensorflow_serving.apis import get_model_status_pb2, model_management_pb2, status_pb2

from serving.server import calls, errors, manager, model_configs


def status_response(
    models: manager.Manager, call: calls.Call
) -> get_model_status_pb2.GetModelStatusResponse:
    """Answers ModelService.GetModelStatus; raises ServingError for an unknown model or version."""
    response = get_model_status_pb2.GetModelStatusResponse()
    versions = models.statuses(call.model_name, version=call.version, label=call.label)
    for version in versions:
        status = response.model_version_status.add(version=version.number, state=int(version.state))
        status.status.SetInParent()
        if version.error is not None:
            status.status.error_code = int(version.error.code)
            status.status.error_message = version.error.message
    return response


def metadata_json(models: manager.Manager, call: calls.Call) -> bytes:
    """Returns the signatures of a version in the form of TF Serving's metadata route."""
    version = models.find(call.model_name, version=call.version, label=call.label)
    signatures = to_dict(calls.signature_map(version))
    return to_json(
        {
            "model_spec": {
                "name": call.model_name,
                "signature_name": "",
                "version": str(version.number),
            },
            "metadata": {"signature_def": signatures},
        }
    )


async def reload_config(
    models: manager.Manager, request: model_management_pb2.ReloadConfigRequest
) -> model_management_pb2.ReloadConfigResponse:
    """Answers ModelService.HandleReloadConfigRequest: replaces all models, or says why not."""
    response = model_management_pb2.ReloadConfigResponse()
    try:
        await models.apply(model_configs.from_message(request.config))
    except ValueError as error:
        _fill_status(response.status, errors.Code.INVALID_ARGUMENT, str(error))
    except errors.ServingError as error:
        _fill_status(response.status, error.code, error.message)
    else:
        response.status.SetInParent()
    return response


def to_dict(message: protobuf_message.Message) -> dict[str, Any]:
    """Returns a message as plain data: snake_case keys, texts for int64, every plain field."""
    document: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return document


def to_json(document: dict[str, Any]) -> bytes:
    """Returns a document as TF Serving prints messages, with one space for each level."""

    return (json.dumps(document, indent=1) + "\n").encode()


def _fill_status(status: status_pb2.StatusProto, code: errors.Code, message: str) -> None:
    status.error_code = int(code)
    status.error_message = message
