"""The REST routes of TF Serving, and a few of our own."""

import asyncio
import dataclasses
import re
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from tensorflow_serving.apis import classification_pb2, regression_pb2

from serving.server import (
    errors,
    http_messages,
    inference,
    json_examples,
    json_input,
    json_numbers,
    json_output,
    json_values,
    loaded_model,
    manager,
    metrics,
    model_service,
    page,
    signature,
)

_NAME = r"/v1/models/([^/:]+)"
_CHOICE = r"(?:/versions/(\d+)|/labels/([^/:]+))?"
_INFERENCE_PATH = re.compile(f"(?i:{_NAME}{_CHOICE}:(classify|regress|predict))")
_STATUS_PATH = re.compile(f"(?i:/v1/models(?:/([^/:]+))?{_CHOICE}(/metadata)?)")
_MAX_VERSION = 2**63 - 1
# Above this, parsing is moved off the event loop, so that it does not hold up small requests.
_LARGE_BODY_BYTES = 256 * 1024
_CORS_HEADERS = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "GET, POST"),
    ("Access-Control-Allow-Headers", "Content-Type, Content-Encoding"),
)

_Result = TypeVar("_Result")


@dataclasses.dataclass(frozen=True)
class RestOptions:
    """What the flags say about REST."""

    timeout_secs: float = 30.0
    max_body_bytes: int = 256 * 1024 * 1024
    has_cors: bool = False
    metrics_path: str | None = None  # None: no metrics page.


class RestApi:
    """The HTTP handler: one request in, one response out."""

    def __init__(
        self, engine: inference.Inference, counters: metrics.Metrics, options: RestOptions
    ):
        self._engine = engine
        self._metrics = counters
        self._options = options
        self._numbers = json_numbers.NumberReader()
        self.is_draining = False

    async def handle(self, request: http_messages.Request) -> http_messages.Response:
        """Answers a request; a failure becomes a JSON object with the key `error`."""
        if request.method == "OPTIONS" and self._options.has_cors:
            response = http_messages.Response(200, b"")
        else:
            try:
                response = await self._route(request)
            except errors.ServingError as error:
                response = http_messages.error_response(error)
        if self._options.has_cors:
            response = dataclasses.replace(response, headers=response.headers + _CORS_HEADERS)
        return response

    async def _route(self, request: http_messages.Request) -> http_messages.Response:
        path = request.path
        if request.method == "POST" and (found := _INFERENCE_PATH.fullmatch(path)):
            name, version, label, method = found.groups()
            call = self._call(name, version, label)
            body = await self._body(request)
            answer = {"predict": self._predict, "classify": self._classify}.get(
                method.lower(), self._regress
            )
            return http_messages.Response(200, await answer(call, body))
        if request.method in ("GET", "HEAD"):
            if found := _STATUS_PATH.fullmatch(path):
                return self._status(*found.groups())
            return self._own_page(request, path)
        raise errors.invalid(f"Malformed request: {request.method} {path}")

    def _own_page(self, request: http_messages.Request, path: str) -> http_messages.Response:
        if path == "/":
            return http_messages.Response(200, page.html(), "text/html; charset=utf-8")
        if path == "/page/state":
            return http_messages.Response(200, page.state(self._engine.models, self._metrics))
        if path == "/health/live":
            return http_messages.Response(200, b"{}")
        if path == "/health/ready":
            return self._readiness()
        if path == self._options.metrics_path:
            text = self._metrics.to_prometheus().encode()
            return http_messages.Response(200, text, "text/plain; version=0.0.4")
        raise errors.invalid(f"Malformed request: {request.method} {path}")

    def _readiness(self) -> http_messages.Response:
        """Ready means: not shutting down, and every configured model answers."""
        names = self._engine.models.model_names
        missing = [name for name in names if not self._engine.models.has_available(name)]
        if self.is_draining or missing or not names:
            reason = "shutting down" if self.is_draining else f"models without a version: {missing}"
            return http_messages.refusal(503, f"Not ready: {reason}.")
        return http_messages.Response(200, b"{}")

    def _call(self, name: str, version: str | None, label: str | None) -> inference.Call:
        return inference.Call(
            model_name=urllib.parse.unquote(name),
            version=_to_version(version),
            label=urllib.parse.unquote(label or ""),
            entrypoint="REST",
            deadline=time.monotonic() + self._options.timeout_secs,
        )

    async def _body(self, request: http_messages.Request) -> bytes:
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return request.body
        if encoding != "gzip":
            raise errors.invalid(f"The only Content-Encoding is gzip. Received: {encoding}")
        max_bytes = self._options.max_body_bytes
        if len(request.body) < _LARGE_BODY_BYTES // 8:
            return http_messages.inflate(request.body, max_bytes=max_bytes)
        return await asyncio.to_thread(
            lambda: http_messages.inflate(request.body, max_bytes=max_bytes)
        )

    async def _predict(self, call: inference.Call, body: bytes) -> bytes:
        engine = self._engine
        with engine.measured(call, "Predict"):
            is_large = len(body) > _LARGE_BODY_BYTES
            fast = None if is_large else self._numbers.read(body)
            document = None
            if fast is None:
                document = await _off_loop_if(is_large, lambda: json_input.parse_object(body))
                call = dataclasses.replace(call, signature_name=json_input.signature_name(document))
            with engine.models.use(
                call.model_name, version=call.version, label=call.label
            ) as version:
                infos = _input_infos(version, call.signature_name)
                inputs = None if fast is None else _from_numbers(*fast, infos)
                is_row = True
                if inputs is None:
                    inputs, is_row = await self._inputs(document, infos, body)
                outputs = await engine.predict_arrays(call, version, inputs)
        return json_output.predictions(outputs) if is_row else json_output.outputs_object(outputs)

    async def _inputs(
        self,
        document: Mapping | None,
        infos: Mapping[str, signature.TensorInfo],
        body: bytes,
    ) -> tuple[loaded_model.Arrays, bool]:
        has_literals = b"true" in body or b"false" in body

        def convert() -> tuple[dict[str, np.ndarray], bool]:
            parsed = json_input.parse_object(body) if document is None else document
            return json_input.predict_inputs(parsed, infos, has_literals=has_literals)

        is_large = len(body) > _LARGE_BODY_BYTES
        inputs, is_row = await _off_loop_if(is_large, convert)
        if is_row and len(inputs) == 1 and not is_large:
            self._numbers.learn(body, next(iter(inputs.values())))
        return inputs, is_row

    async def _classify(self, call: inference.Call, body: bytes) -> bytes:
        request = classification_pb2.ClassificationRequest()
        call = _read_examples(request, call, body)
        response = await self._engine.classify(request, call)
        return json_output.classifications(response.result)

    async def _regress(self, call: inference.Call, body: bytes) -> bytes:
        request = regression_pb2.RegressionRequest()
        call = _read_examples(request, call, body)
        response = await self._engine.regress(request, call)
        return json_output.regressions(response.result)

    def _status(
        self, name: str | None, version: str | None, label: str | None, metadata: str | None
    ) -> http_messages.Response:
        if not name:
            raise errors.invalid("Missing model name in request.")
        call = self._call(name, version, label)
        if metadata:
            body = model_service.metadata_json(self._engine.models, call)
        else:
            response = model_service.status_response(self._engine.models, call)
            body = model_service.to_json(model_service.to_dict(response))
        return http_messages.Response(200, body)


async def _off_loop_if(is_large: bool, work: Callable[[], _Result]) -> _Result:
    return await asyncio.to_thread(work) if is_large else work()


def _from_numbers(
    numbers: list[int | float], shape: tuple[int, ...], infos: Mapping[str, signature.TensorInfo]
) -> loaded_model.Arrays | None:
    if len(infos) != 1:
        return None
    ((name, info),) = infos.items()
    array = json_values.convert_flat(numbers, info)
    return None if array is None else {name: array.reshape(shape)}


def _to_version(text: str | None) -> int | None:
    if text is None:
        return None
    # int() refuses very long texts with an error of its own.
    if len(text) > 19 or int(text) > _MAX_VERSION:
        raise errors.invalid(f"Failed to convert version: {text} to numeric.")
    return int(text)


def _input_infos(version: manager.Version, name: str) -> Mapping[str, signature.TensorInfo]:
    name = name or inference.DEFAULT_SIGNATURE
    found = version.model.signatures.get(name)
    if found is None:
        raise errors.invalid(f'Serving signature name: "{name}" not found in signature def')
    if not found.inputs:
        raise errors.invalid(f"Failed to get input map for signature: {name}")
    return found.inputs


def _read_examples(
    request: classification_pb2.ClassificationRequest | regression_pb2.RegressionRequest,
    call: inference.Call,
    body: bytes,
) -> inference.Call:
    document = json_input.parse_object(body)
    json_examples.parse_examples(document, request.input)
    return dataclasses.replace(call, signature_name=json_input.signature_name(document))
