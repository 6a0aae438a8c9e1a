"""The REST routes of TF Serving, and a few of our own."""

import asyncio
import dataclasses
import functools
import re
import time
import urllib.parse
from typing import TypeVar

from tensorflow_serving.apis import classification_pb2, regression_pb2

from serving.server import (
    calls,
    errors,
    example_inference,
    http_messages,
    inference,
    json_examples,
    json_input,
    json_output,
    manager,
    metrics,
    model_service,
    page,
    rest_predict,
)

_NAME = r"/v1/models/([^/:]+)"
_CHOICE = r"(?:/versions/(\d+)|/labels/([^/:]+))?"
_INFERENCE_PATH = re.compile(f"(?i:{_NAME}{_CHOICE}:(classify|regress|predict))")
_STATUS_PATH = re.compile(f"(?i:/v1/models(?:/([^/:]+))?{_CHOICE}(/metadata)?)")
_MAX_VERSION = 2**63 - 1
# Above this, inflating is moved off the event loop, so that it does not hold up small requests.
_LARGE_GZIP_BYTES = 32 * 1024
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
        self,
        engine: inference.Inference,
        models: manager.Manager,
        counters: metrics.Metrics,
        options: RestOptions,
    ):
        self._engine = engine
        self._models = models
        self._metrics = counters
        self._options = options
        predictor = rest_predict.Predictor(engine)
        self._methods = {
            "predict": predictor.predict,
            "classify": self._classify,
            "regress": self._regress,
        }
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
            response = response._replace(headers=response.headers + _CORS_HEADERS)
        return response

    async def _route(self, request: http_messages.Request) -> http_messages.Response:
        path = request.path
        if request.method == "POST" and (found := _inference_target(path)):
            call, method = found
            deadline = time.monotonic() + self._options.timeout_secs
            body = await self._body(request)
            return http_messages.Response(200, await self._methods[method](call, body, deadline))
        if request.method in ("GET", "HEAD"):
            if status := _STATUS_PATH.fullmatch(path):
                return self._status(*status.groups())
            return self._own_page(request, path)
        raise errors.invalid(f"Malformed request: {request.method} {path}")

    def _own_page(self, request: http_messages.Request, path: str) -> http_messages.Response:
        if path == "/":
            return http_messages.Response(200, page.html(), "text/html; charset=utf-8")
        if path == "/page/script.js":
            return http_messages.Response(200, page.script(), "text/javascript; charset=utf-8")
        if path == "/page/state":
            return http_messages.Response(200, page.state(self._models, self._metrics))
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
        names = self._models.model_names
        missing = [name for name in names if not self._models.has_available(name)]
        if self.is_draining or missing or not names:
            reason = "shutting down" if self.is_draining else f"models without a version: {missing}"
            return http_messages.refusal(503, f"Not ready: {reason}.")
        return http_messages.Response(200, b"{}")

    async def _body(self, request: http_messages.Request) -> bytes:
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return request.body
        if encoding != "gzip":
            raise errors.invalid(f"The only Content-Encoding is gzip. Received: {encoding}")
        max_bytes = self._options.max_body_bytes
        if len(request.body) < _LARGE_GZIP_BYTES:
            return http_messages.inflate(request.body, max_bytes=max_bytes)
        return await asyncio.to_thread(
            lambda: http_messages.inflate(request.body, max_bytes=max_bytes)
        )

    async def _classify(self, call: calls.Call, body: bytes, deadline: float) -> bytes:
        request = classification_pb2.ClassificationRequest()
        call = _read_examples(request, call, body)
        response = await example_inference.classify(self._engine, request, call, deadline=deadline)
        return json_output.classifications(response.result)

    async def _regress(self, call: calls.Call, body: bytes, deadline: float) -> bytes:
        request = regression_pb2.RegressionRequest()
        call = _read_examples(request, call, body)
        response = await example_inference.regress(self._engine, request, call, deadline=deadline)
        return json_output.regressions(response.result)

    def _status(
        self, name: str | None, version: str | None, label: str | None, metadata: str | None
    ) -> http_messages.Response:
        if not name:
            raise errors.invalid("Missing model name in request.")
        call = _call(name, version, label)
        if metadata:
            body = model_service.metadata_json(self._models, call)
        else:
            response = model_service.status_response(self._models, call)
            body = model_service.to_json(model_service.to_dict(response))
        return http_messages.Response(200, body)


# A server is asked at few addresses.
@functools.lru_cache(maxsize=256)
def _inference_target(path: str) -> tuple[calls.Call, str] | None:
    """Returns what a path asks for and by which method; None if it is no such path.

    Raises:
        ServingError: INVALID_ARGUMENT if the version is none.
    """
    found = _INFERENCE_PATH.fullmatch(path)
    if found is None:
        return None
    name, version, label, method = found.groups()
    return _call(name, version, label), method.lower()


def _call(name: str, version: str | None, label: str | None) -> calls.Call:
    return calls.Call(
        model_name=urllib.parse.unquote(name),
        version=_to_version(version),
        label=urllib.parse.unquote(label or ""),
        entrypoint="REST",
    )


def _to_version(text: str | None) -> int | None:
    if text is None:
        return None
    # int() refuses very long texts with an error of its own.
    if len(text) > 19 or int(text) > _MAX_VERSION:
        raise errors.invalid(f"Failed to convert version: {text} to numeric.")
    return int(text)


def _read_examples(
    request: classification_pb2.ClassificationRequest | regression_pb2.RegressionRequest,
    call: calls.Call,
    body: bytes,
) -> calls.Call:
    document = json_input.parse_object(body)
    json_examples.parse_examples(document, request.input)
    return dataclasses.replace(call, signature_name=json_input.signature_name(document))
