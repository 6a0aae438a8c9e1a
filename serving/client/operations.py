"""What can be asked of a server: each operation knows its gRPC and its REST form."""

import base64
import dataclasses
import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.client import errors, messages, tensors

_PREDICTION_SERVICE = "/tensorflow.serving.PredictionService"
_MODEL_SERVICE = "/tensorflow.serving.ModelService"
_STATES = {0: "UNKNOWN", 10: "START", 20: "LOADING", 30: "AVAILABLE", 40: "UNLOADING", 50: "END"}


@dataclasses.dataclass(frozen=True)
class Target:
    """Which model, and which version of it."""

    model: str
    version: int | None = None
    label: str | None = None

    def to_spec(self, **fields: str) -> Any:
        """Returns the ModelSpec."""
        spec = messages.new("ModelSpec", name=self.model, **fields)
        if self.version is not None:
            spec.version.value = self.version
        if self.label is not None:
            spec.version_label = self.label
        return spec

    def to_path(self) -> str:
        """Returns the path of REST, percent-encoded."""
        path = f"/v1/models/{urllib.parse.quote(self.model, safe='')}"
        if self.version is not None:
            return f"{path}/versions/{self.version}"
        if self.label is not None:
            return f"{path}/labels/{urllib.parse.quote(self.label, safe='')}"
        return path


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """The state of one version, such as AVAILABLE or LOADING, and what went wrong with it."""

    version: int
    state: str
    error_message: str


@dataclasses.dataclass(frozen=True)
class Predict:
    """Runs a signature; the result is a dict of arrays."""

    target: Target
    signature_name: str
    signature: tensors.Signature
    inputs: Mapping[str, np.ndarray]

    grpc_method = f"{_PREDICTION_SERVICE}/Predict"
    http_method = "POST"

    def grpc_request(self) -> bytes:
        """Returns the PredictRequest as bytes."""
        request = messages.new("PredictRequest")
        request.model_spec.CopyFrom(self.target.to_spec(signature_name=self.signature_name))
        for name, array in self.inputs.items():
            request.inputs[name].CopyFrom(tensors.encode(array))
        return request.SerializeToString(deterministic=True)

    def read_grpc(self, body: bytes) -> dict[str, np.ndarray]:
        """Reads a PredictResponse."""
        response = messages.classes()["PredictResponse"].FromString(body)
        return {name: tensors.decode(proto) for name, proto in sorted(response.outputs.items())}

    def http_path(self) -> str:
        """Returns the path of the predict route."""
        return f"{self.target.to_path()}:predict"

    def http_body(self) -> bytes:
        """Returns the request in columnar format, which every signature fits."""
        values = {name: _to_json(array) for name, array in self.inputs.items()}
        return json.dumps({"signature_name": self.signature_name, "inputs": values}).encode()

    def read_http(self, document: dict[str, Any]) -> dict[str, np.ndarray]:
        """Reads the JSON answer; a single output is not named in it."""
        outputs = document["outputs"]
        specs = self.signature.outputs
        if len(specs) == 1:
            outputs = {next(iter(specs)): outputs}
        return {name: _from_json(outputs[name], spec.dtype) for name, spec in specs.items()}


@dataclasses.dataclass(frozen=True)
class GetSignatures:
    """Fetches the signatures of a model."""

    target: Target

    grpc_method = f"{_PREDICTION_SERVICE}/GetModelMetadata"
    http_method = "GET"

    def grpc_request(self) -> bytes:
        """Returns the GetModelMetadataRequest as bytes."""
        request = messages.new("GetModelMetadataRequest", metadata_field=["signature_def"])
        request.model_spec.CopyFrom(self.target.to_spec())
        return request.SerializeToString(deterministic=True)

    def read_grpc(self, body: bytes) -> dict[str, tensors.Signature]:
        """Reads a GetModelMetadataResponse."""
        response = messages.classes()["GetModelMetadataResponse"].FromString(body)
        packed = response.metadata["signature_def"].value
        signatures = messages.classes()["SignatureDefMap"].FromString(packed)
        return tensors.read_signatures(signatures.signature_def)

    def http_path(self) -> str:
        """Returns the path of the metadata route."""
        return f"{self.target.to_path()}/metadata"

    def http_body(self) -> bytes:
        """Returns nothing: it is a GET."""
        return b""

    def read_http(self, document: dict[str, Any]) -> dict[str, tensors.Signature]:
        """Reads the metadata document."""
        signatures = messages.new("SignatureDefMap")
        for name, value in document["metadata"]["signature_def"]["signature_def"].items():
            definition = signatures.signature_def[name]
            definition.method_name = value.get("method_name", "")
            for side in ("inputs", "outputs"):
                for key, info in value.get(side, {}).items():
                    _fill_info(getattr(definition, side)[key], info)
        return tensors.read_signatures(signatures.signature_def)


@dataclasses.dataclass(frozen=True)
class GetStatus:
    """Fetches the state of a model's versions, the newest first."""

    target: Target

    grpc_method = f"{_MODEL_SERVICE}/GetModelStatus"
    http_method = "GET"

    def grpc_request(self) -> bytes:
        """Returns the GetModelStatusRequest as bytes."""
        request = messages.new("GetModelStatusRequest")
        request.model_spec.CopyFrom(self.target.to_spec())
        return request.SerializeToString(deterministic=True)

    def read_grpc(self, body: bytes) -> list[VersionStatus]:
        """Reads a GetModelStatusResponse."""
        response = messages.classes()["GetModelStatusResponse"].FromString(body)
        return [
            VersionStatus(each.version, _STATES[each.state], each.status.error_message)
            for each in response.model_version_status
        ]

    def http_path(self) -> str:
        """Returns the path of the status route."""
        return self.target.to_path()

    def http_body(self) -> bytes:
        """Returns nothing: it is a GET."""
        return b""

    def read_http(self, document: dict[str, Any]) -> list[VersionStatus]:
        """Reads the status document."""
        return [
            VersionStatus(
                int(each["version"]), each["state"], each.get("status", {}).get("error_message", "")
            )
            for each in document["model_version_status"]
        ]


Operation = Predict | GetSignatures | GetStatus


def read_http_answer(operation: Operation, status: int, body: bytes) -> Any:
    """Returns what a REST answer holds.

    Raises:
        ServerError: If it is an error, or no JSON.
    """
    try:
        document = json.loads(body)
    except ValueError:
        message = body[:200].decode(errors="replace")
        raise errors.ServerError(errors.code_of_http_status(status), message) from None
    if status != 200:
        message = document.get("error", "") if isinstance(document, dict) else str(document)
        raise errors.ServerError(errors.code_of_http_status(status), message)
    return operation.read_http(document)


def _to_json(array: np.ndarray) -> Any:
    if array.dtype.kind != "O":
        return array.tolist()
    encoded = np.empty(array.shape, object)
    for index, value in np.ndenumerate(array):
        encoded[index] = {"b64": base64.b64encode(value).decode()}
    return encoded.tolist()


def _from_json(value: Any, dtype: np.dtype) -> np.ndarray:
    if dtype.kind != "O":
        return np.array(value, dtype)
    if isinstance(value, list):
        rows = [_from_json(item, dtype) for item in value]
        array = np.empty((len(rows), *(rows[0].shape if rows else ())), object)
        for index, row in enumerate(rows):
            array[index] = row if row.ndim else row.item()
        return array
    scalar = np.empty((), object)
    scalar[()] = base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()
    return scalar


def _fill_info(target: Any, info: Mapping[str, Any]) -> None:
    target.dtype = tensors.dtype_number(info.get("dtype", ""))
    shape = info.get("tensor_shape", {})
    target.tensor_shape.unknown_rank = shape.get("unknown_rank", False)
    for dim in shape.get("dim", []):
        target.tensor_shape.dim.add(size=int(dim["size"]))
