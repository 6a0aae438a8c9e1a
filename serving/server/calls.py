"""What a request asks for, apart from its inputs, and how an answer names it."""

import dataclasses
from collections.abc import Sequence

from tensorflow_serving.apis import get_model_metadata_pb2, model_pb2

from serving.server import errors, signature, versions

DEFAULT_SIGNATURE = "serving_default"


@dataclasses.dataclass(frozen=True)
class Call:
    """What a request asks for, apart from its inputs."""

    model_name: str
    version: int | None = None
    label: str = ""
    signature_name: str = ""
    entrypoint: str = "GRPC"


def call_of(spec: model_pb2.ModelSpec) -> Call:
    """Reads a ModelSpec.

    Raises:
        ServingError: INVALID_ARGUMENT if it names no model.
    """
    if not spec.name:
        raise errors.invalid("Missing ModelSpec")
    return Call(
        model_name=spec.name,
        version=spec.version.value if spec.HasField("version") else None,
        label=spec.version_label,
        signature_name=spec.signature_name,
    )


def fill_model_spec(spec: model_pb2.ModelSpec, call: Call, version: versions.Version) -> None:
    """Says in an answer what was asked, and which version answered."""
    spec.name = call.model_name
    spec.signature_name = call.signature_name or DEFAULT_SIGNATURE
    spec.version.value = version.number


def predict_signature(version: versions.Version, name: str) -> signature.Signature:
    """Returns the signature that a Predict request names.

    Raises:
        ServingError: FAILED_PRECONDITION if the model does not have it.
    """
    name = name or DEFAULT_SIGNATURE
    found = version.model.signatures.get(name)
    if found is None:
        raise errors.ServingError(
            errors.Code.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.'
        )
    return found


def signature_map(version: versions.Version) -> get_model_metadata_pb2.SignatureDefMap:
    """Returns every signature of a version, as its SavedModel defines it."""
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, definition in version.model.meta_graph.signature_def.items():
        signatures.signature_def[name].CopyFrom(definition)
    return signatures


def check_filter(spec: signature.Signature, output_filter: Sequence[str]) -> None:
    """Compares the outputs that a request names with the signature's.

    Raises:
        ServingError: INVALID_ARGUMENT, in TF Serving's words.
    """
    for index, name in enumerate(output_filter):
        if name not in spec.outputs:
            raise errors.invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the "
                f"set {{{','.join(spec.outputs)}}}."
            )
        if name in output_filter[:index]:
            raise errors.invalid(f"duplicate output tensor alias: {name}")
