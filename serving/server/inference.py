"""Predict and GetModelMetadata, apart from REST and gRPC."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol

import numpy as np
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2

from serving.server import (
    backends,
    batch_tasks,
    calls,
    errors,
    metrics,
    model_configs,
    predict_messages,
    request_log,
    signature,
    tensor_codec,
    versions,
)


class Models(Protocol):
    """What is asked of a manager."""

    def find(self, name: str, *, version: int | None = None, label: str = "") -> versions.Version:
        """Returns the version that answers, or raises ServingError."""

    def config(self, name: str) -> model_configs.ModelConfig | None:
        """Returns a model's config; requests for a model without one are not counted."""


class Inference:
    """Answers requests with the models that a manager keeps loaded."""

    def __init__(self, models: Models, counters: metrics.Metrics, *, as_content: bool):
        """Joins the parts.

        Args:
            models: Where versions come from.
            counters: Where requests are counted.
            as_content: Put response tensors in `tensor_content`, instead of typed fields.
        """
        self._models = models
        self._metrics = counters
        self._as_content = as_content
        self._reader = predict_messages.RequestReader()
        self._logs: dict[model_configs.LoggingConfig, request_log.RequestLog] = {}

    def measured(self, call: calls.Call, api: str) -> "_Measurement":
        """Counts what is done in the block as a request, with the status that it ends with."""
        return _Measurement(self._models, self._metrics, call, api)

    def use(self, call: calls.Call) -> versions.Version:
        """Returns the version that a call names; in a `with` block it stays loaded.

        Raises:
            ServingError: NOT_FOUND or INVALID_ARGUMENT, in TF Serving's words.
        """
        return self._models.find(call.model_name, version=call.version, label=call.label)

    async def run(
        self,
        call: calls.Call,
        version: versions.Version,
        inputs: backends.Arrays,
        *,
        deadline: float,
        output_filter: Sequence[str] = (),
    ) -> dict[str, np.ndarray]:
        """Runs a signature on arrays, checked here against it.

        Args:
            call: Names the signature.
            version: A version in use.
            inputs: Arrays by input name.
            deadline: When the answer is no longer wanted, on `time.monotonic`'s clock.
            output_filter: The outputs to return; empty: all.

        Raises:
            ServingError: If the request does not fit the signature, or the graph refuses it.
        """
        spec = _checked_signature(call, version, inputs)
        calls.check_filter(spec, output_filter)
        outputs = await version.batcher.submit(spec, inputs, deadline=deadline)
        if output_filter:
            return {name: outputs[name] for name in output_filter}
        return outputs

    async def predict(self, body: bytes, deadline: float) -> bytes:
        """Answers PredictionService.Predict, from a serialized request to a serialized response.

        Raises:
            ServingError: If it cannot be answered.
            DecodeError: If the body is no PredictRequest.
        """
        parsed = self._reader.read(body)
        is_new = parsed is None
        if parsed is None:
            request = predict_pb2.PredictRequest.FromString(body)
            call = calls.call_of(request.model_spec)
            parsed = predict_messages.Parsed(call, {}, tuple(request.output_filter))
        call, inputs, output_filter = parsed
        with self.measured(call, "Predict"), self.use(call) as version:
            if is_new:
                for name, proto in request.inputs.items():
                    inputs[name] = tensor_codec.decode(proto, name=name)
            outputs = await self.run(
                call, version, inputs, deadline=deadline, output_filter=output_filter
            )
            if is_new:
                self._reader.learn(body, parsed)
            answer = self._encode(call, version, outputs)
            log = self._sampled_log(call.model_name)
            if log is not None:
                _add_to_log(log, predict_pb2.PredictRequest.FromString(body), answer)
            return answer

    async def predict_arrays(
        self,
        call: calls.Call,
        version: versions.Version,
        inputs: backends.Arrays,
        *,
        deadline: float,
    ) -> dict[str, np.ndarray]:
        """Runs arrays that came another way than gRPC, and logs them like a Predict request."""
        outputs = await self.run(call, version, inputs, deadline=deadline)
        log = self._sampled_log(call.model_name)
        if log is not None:
            request = predict_pb2.PredictRequest()
            calls.fill_model_spec(request.model_spec, call, version)
            for name, array in inputs.items():
                tensor_codec.encode_into(request.inputs[name], array, as_content=True)
            _add_to_log(log, request, self._encode(call, version, outputs))
        return outputs

    async def predict_rendered(
        self,
        call: calls.Call,
        version: versions.Version,
        inputs: backends.Arrays,
        render: batch_tasks.Render,
        *,
        deadline: float,
    ) -> bytes:
        """Is `predict_arrays` for an answer that is rendered with those of its whole batch."""
        if self._log(call.model_name) is not None:
            outputs = await self.predict_arrays(call, version, inputs, deadline=deadline)
            return render(outputs, None)[0]
        spec = _checked_signature(call, version, inputs)
        return await version.batcher.submit_rendered(spec, inputs, render, deadline=deadline)

    def metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """Answers PredictionService.GetModelMetadata; raises ServingError."""
        if not request.metadata_field:
            raise errors.invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != "signature_def":
                raise errors.invalid(f"Metadata field {field} is not supported")
        call = calls.call_of(request.model_spec)
        with self.use(call) as version:
            response = get_model_metadata_pb2.GetModelMetadataResponse()
            response.model_spec.name = call.model_name
            response.model_spec.version.value = version.number
            response.metadata["signature_def"].Pack(calls.signature_map(version))
            return response

    def close_logs(self) -> None:
        """Finishes the request log files; blocks until they are written."""
        for log in self._logs.values():
            log.close()
        self._logs.clear()

    def _encode(
        self, call: calls.Call, version: versions.Version, outputs: Mapping[str, np.ndarray]
    ) -> bytes:
        return predict_messages.encode_response(
            call, version.number, outputs, as_content=self._as_content
        )

    def _sampled_log(self, model_name: str) -> request_log.RequestLog | None:
        """Returns where the next request of a model is logged; None if it is not in the sample."""
        log = self._log(model_name)
        return log if log is not None and log.wants_next() else None

    def _log(self, model_name: str) -> request_log.RequestLog | None:
        config = self._models.config(model_name)
        if config is None or config.logging is None:
            return None
        if config.logging not in self._logs:
            self._logs[config.logging] = request_log.RequestLog(config.logging)
        return self._logs[config.logging]


def _checked_signature(
    call: calls.Call, version: versions.Version, inputs: backends.Arrays
) -> signature.Signature:
    """Returns the signature that a call names; raises ServingError if the inputs do not fit."""
    spec = calls.predict_signature(version, call.signature_name)
    signature.check_input_names(spec, inputs.keys())
    for name, array in inputs.items():
        signature.check_input(spec, name, array)
    return spec


def _add_to_log(
    log: request_log.RequestLog, request: predict_pb2.PredictRequest, answer: bytes
) -> None:
    log.add(request, predict_pb2.PredictResponse.FromString(answer))


class _Measurement:
    """A `with` block that is counted; a generator would take four times as long."""

    __slots__ = ("_api", "_call", "_metrics", "_models", "_start")

    def __init__(self, models: Models, counters: metrics.Metrics, call: calls.Call, api: str):
        self._models, self._metrics = models, counters
        self._call, self._api = call, api

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        call = self._call
        if self._models.config(call.model_name) is None:
            return
        status = errors.Code.OK if error is None else errors.Code.UNKNOWN
        if isinstance(error, errors.ServingError):
            status = error.code
        self._metrics.request_done(
            model_name=call.model_name,
            api=self._api,
            entrypoint=call.entrypoint,
            status=status.name,
            micros=(time.perf_counter() - self._start) * 1e6,
        )
