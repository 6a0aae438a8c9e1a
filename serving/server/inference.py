"""Predict, Classify, Regress, MultiInference and GetModelMetadata, apart from REST and gRPC."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    inference_pb2,
    input_pb2,
    model_pb2,
    predict_pb2,
    regression_pb2,
)

from serving.server import (
    errors,
    example_results,
    loaded_model,
    manager,
    metrics,
    model_configs,
    request_log,
    signature,
    tensor_codec,
)

DEFAULT_SIGNATURE = "serving_default"


@dataclasses.dataclass(frozen=True)
class Call:
    """What a request asks for, apart from its inputs."""

    model_name: str
    version: int | None = None
    label: str = ""
    signature_name: str = ""
    entrypoint: str = "GRPC"
    deadline: float = float("inf")  # On `time.monotonic`'s clock.


def call_of(spec: model_pb2.ModelSpec, *, deadline: float) -> Call:
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
        deadline=deadline,
    )


class Inference:
    """Answers requests with the models that a manager keeps loaded."""

    def __init__(self, models: manager.Manager, counters: metrics.Metrics, *, as_content: bool):
        """Joins the parts.

        Args:
            models: Where versions come from.
            counters: Where requests are counted.
            as_content: Put response tensors in `tensor_content`, instead of typed fields.
        """
        self.models = models
        self._metrics = counters
        self._as_content = as_content
        self._logs: dict[model_configs.LoggingConfig, request_log.RequestLog] = {}

    @contextlib.contextmanager
    def measured(self, call: Call, api: str) -> Iterator[None]:
        """Counts a request under its model, with the status that it ends with."""
        start = time.perf_counter()
        status = errors.Code.OK
        try:
            yield
        except errors.ServingError as error:
            status = error.code
            raise
        except BaseException:
            status = errors.Code.UNKNOWN
            raise
        finally:
            if self.models.config(call.model_name) is not None:
                self._metrics.request_done(
                    model_name=call.model_name,
                    api=api,
                    entrypoint=call.entrypoint,
                    status=status.name,
                    micros=(time.perf_counter() - start) * 1e6,
                )

    async def run(
        self,
        call: Call,
        version: manager.Version,
        inputs: loaded_model.Arrays,
        output_filter: Sequence[str] = (),
    ) -> dict[str, np.ndarray]:
        """Runs a signature on arrays, checked here against it.

        Args:
            call: Names the signature and the deadline.
            version: A version in use.
            inputs: Arrays by input name.
            output_filter: The outputs to return; empty: all.

        Raises:
            ServingError: If the request does not fit the signature, or the graph refuses it.
        """
        spec = predict_signature(version, call.signature_name)
        signature.check_input_names(spec, inputs)
        for name, array in inputs.items():
            signature.check_input(spec, name, array)
        _check_filter(spec, output_filter)
        outputs = await version.batcher.submit(spec, inputs, deadline=call.deadline)
        if output_filter:
            return {name: outputs[name] for name in output_filter}
        return outputs

    async def predict(
        self, request: predict_pb2.PredictRequest, *, deadline: float
    ) -> predict_pb2.PredictResponse:
        """Answers PredictionService.Predict; raises ServingError."""
        call = call_of(request.model_spec, deadline=deadline)
        with self.measured(call, "Predict"), self._use(call) as version:
            inputs = {
                name: tensor_codec.decode(proto, name=name)
                for name, proto in request.inputs.items()
            }
            outputs = await self.run(call, version, inputs, request.output_filter)
            response = self._predict_response(call, version, outputs)
            log = self._sampled_log(call.model_name)
            if log is not None:
                log.add(request, response)
            return response

    async def predict_arrays(
        self, call: Call, version: manager.Version, inputs: loaded_model.Arrays
    ) -> dict[str, np.ndarray]:
        """Runs arrays that came another way than gRPC, and logs them like a Predict request."""
        outputs = await self.run(call, version, inputs)
        log = self._sampled_log(call.model_name)
        if log is not None:
            response = self._predict_response(call, version, outputs)
            request = predict_pb2.PredictRequest(model_spec=response.model_spec)
            for name, array in inputs.items():
                encoded = tensor_codec.encode(array, as_content=True)
                request.inputs[name].CopyFrom(encoded)
            log.add(request, response)
        return outputs

    async def classify(
        self, request: classification_pb2.ClassificationRequest, call: Call
    ) -> classification_pb2.ClassificationResponse:
        """Answers PredictionService.Classify; raises ServingError."""
        with self.measured(call, "Classify"), self._use(call) as version:
            response = classification_pb2.ClassificationResponse()
            _fill_model_spec(response.model_spec, call, version)
            result = await self._classify(call, version, request.input)
            response.result.CopyFrom(result)
            return response

    async def regress(
        self, request: regression_pb2.RegressionRequest, call: Call
    ) -> regression_pb2.RegressionResponse:
        """Answers PredictionService.Regress; raises ServingError."""
        with self.measured(call, "Regress"), self._use(call) as version:
            response = regression_pb2.RegressionResponse()
            _fill_model_spec(response.model_spec, call, version)
            result = await self._regress(call, version, request.input)
            response.result.CopyFrom(result)
            return response

    async def multi_inference(
        self, request: inference_pb2.MultiInferenceRequest, *, deadline: float
    ) -> inference_pb2.MultiInferenceResponse:
        """Answers PredictionService.MultiInference; raises ServingError."""
        if not request.tasks:
            raise errors.invalid("Inference request must have at least one task.")
        calls = [call_of(task.model_spec, deadline=deadline) for task in request.tasks]
        if len({(call.model_name, call.version, call.label) for call in calls}) > 1:
            raise errors.invalid("All ModelSpecs in a MultiInferenceRequest must access one model.")
        if len({call.signature_name for call in calls}) < len(calls):
            raise errors.invalid("Duplicate evaluation of signature in a MultiInferenceRequest.")
        response = inference_pb2.MultiInferenceResponse()
        with self.measured(calls[0], "MultiInference"), self._use(calls[0]) as version:
            for task, call in zip(request.tasks, calls, strict=True):
                result = response.results.add()
                if task.method_name == signature.CLASSIFY_METHOD:
                    classes = await self._classify(call, version, request.input)
                    result.classification_result.CopyFrom(classes)
                elif task.method_name == signature.REGRESS_METHOD:
                    values = await self._regress(call, version, request.input)
                    result.regression_result.CopyFrom(values)
                else:
                    raise errors.ServingError(
                        errors.Code.UNIMPLEMENTED,
                        f"Unsupported signature method_name: {task.method_name}",
                    )
                _fill_model_spec(result.model_spec, call, version)
        return response

    def metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """Answers PredictionService.GetModelMetadata; raises ServingError."""
        if not request.metadata_field:
            raise errors.invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != "signature_def":
                raise errors.invalid(f"Metadata field {field} is not supported")
        call = call_of(request.model_spec, deadline=float("inf"))
        with self._use(call) as version:
            response = get_model_metadata_pb2.GetModelMetadataResponse()
            response.model_spec.name = call.model_name
            response.model_spec.version.value = version.number
            response.metadata["signature_def"].Pack(signature_map(version))
            return response

    def close_logs(self) -> None:
        """Finishes the request log files; blocks until they are written."""
        for log in self._logs.values():
            log.close()
        self._logs.clear()

    def _use(self, call: Call) -> contextlib.AbstractContextManager[manager.Version]:
        return self.models.use(call.model_name, version=call.version, label=call.label)

    def _predict_response(
        self, call: Call, version: manager.Version, outputs: Mapping[str, np.ndarray]
    ) -> predict_pb2.PredictResponse:
        response = predict_pb2.PredictResponse()
        _fill_model_spec(response.model_spec, call, version)
        response.model_spec.signature_name = call.signature_name or DEFAULT_SIGNATURE
        for name, array in outputs.items():
            tensor_codec.encode_into(
                response.outputs[name], np.asarray(array), as_content=self._as_content
            )
        return response

    def _sampled_log(self, model_name: str) -> request_log.RequestLog | None:
        config = self.models.config(model_name)
        if config is None or config.logging is None:
            return None
        if config.logging not in self._logs:
            self._logs[config.logging] = request_log.RequestLog(config.logging)
        log = self._logs[config.logging]
        return log if log.wants_next() else None

    async def _run_examples(
        self, call: Call, version: manager.Version, source: input_pb2.Input, method: str
    ) -> tuple[int, dict[str, np.ndarray]]:
        signatures = version.model.signatures
        spec = example_results.find_signature(
            signatures, call.signature_name or DEFAULT_SIGNATURE, method
        )
        examples = example_results.serialize_examples(source)
        inputs = {next(iter(spec.inputs)): examples}
        outputs = await version.batcher.submit(spec, inputs, deadline=call.deadline)
        return len(examples), outputs

    async def _classify(
        self, call: Call, version: manager.Version, source: input_pb2.Input
    ) -> classification_pb2.ClassificationResult:
        method = signature.CLASSIFY_METHOD
        num_examples, outputs = await self._run_examples(call, version, source, method)
        return example_results.classification(outputs, num_examples)

    async def _regress(
        self, call: Call, version: manager.Version, source: input_pb2.Input
    ) -> regression_pb2.RegressionResult:
        method = signature.REGRESS_METHOD
        num_examples, outputs = await self._run_examples(call, version, source, method)
        return example_results.regression(outputs, num_examples)


def predict_signature(version: manager.Version, name: str) -> signature.Signature:
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


def signature_map(version: manager.Version) -> get_model_metadata_pb2.SignatureDefMap:
    """Returns every signature of a version, as its SavedModel defines it."""
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, definition in version.model.meta_graph.signature_def.items():
        signatures.signature_def[name].CopyFrom(definition)
    return signatures


def _fill_model_spec(spec: model_pb2.ModelSpec, call: Call, version: manager.Version) -> None:
    spec.name = call.model_name
    spec.signature_name = call.signature_name or DEFAULT_SIGNATURE
    spec.version.value = version.number


def _check_filter(spec: signature.Signature, output_filter: Sequence[str]) -> None:
    for index, name in enumerate(output_filter):
        if name not in spec.outputs:
            raise errors.invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the "
                f"set {{{','.join(spec.outputs)}}}."
            )
        if name in output_filter[:index]:
            raise errors.invalid(f"duplicate output tensor alias: {name}")
