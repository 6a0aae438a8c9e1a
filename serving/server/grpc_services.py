"""PredictionService, ModelService and grpc.health, on grpc.aio or on our own HTTP/2."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import grpc
from google.protobuf import message
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from serving.server import (
    calls,
    errors,
    example_inference,
    grpc_http2,
    http2_server,
    inference,
    manager,
    model_service,
    tls,
)

_log = logging.getLogger("kerasline.serve")

# A client without a deadline is answered whenever it may be.
_NO_DEADLINE_SECS = 1e6
_INT32_MAX = 2**31 - 1

# grpc.health.v1, whose two messages are one field each.
_HEALTH_SERVICE = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"  # HealthCheckResponse.status (1, varint)


_PREDICTION_SERVICE = "tensorflow.serving.PredictionService"
_MODEL_SERVICE = "tensorflow.serving.ModelService"


class Services:
    """What is answered: one function for each method, from bytes to bytes."""

    def __init__(self, engine: inference.Inference, models: manager.Manager, *, has_health: bool):
        """Collects the methods.

        Args:
            engine: What answers.
            models: What it answers with.
            has_health: Also answer grpc.health.v1, with the readiness of the models.
        """
        self._engine = engine
        self._models = models
        self.is_draining = False
        named: dict[str, dict[str, grpc_http2.Method]] = {
            _PREDICTION_SERVICE: self._prediction_methods(),
            _MODEL_SERVICE: self._model_methods(),
            _HEALTH_SERVICE: {"Check": self._check_health} if has_health else {},
        }
        self.methods = {service: methods for service, methods in named.items() if methods}

    def _prediction_methods(self) -> dict[str, grpc_http2.Method]:
        engine = self._engine

        async def classify(
            request: classification_pb2.ClassificationRequest, deadline: float
        ) -> message.Message:
            call = calls.call_of(request.model_spec)
            return await example_inference.classify(engine, request, call, deadline=deadline)

        async def regress(
            request: regression_pb2.RegressionRequest, deadline: float
        ) -> message.Message:
            call = calls.call_of(request.model_spec)
            return await example_inference.regress(engine, request, call, deadline=deadline)

        async def multi_inference(
            request: inference_pb2.MultiInferenceRequest, deadline: float
        ) -> message.Message:
            return await example_inference.multi_inference(engine, request, deadline=deadline)

        async def metadata(
            request: get_model_metadata_pb2.GetModelMetadataRequest, deadline: float
        ) -> message.Message:
            return engine.metadata(request)

        return {
            "Predict": _guarded(predict_pb2.PredictRequest, engine.predict),
            "Classify": _method(classification_pb2.ClassificationRequest, classify),
            "Regress": _method(regression_pb2.RegressionRequest, regress),
            "MultiInference": _method(inference_pb2.MultiInferenceRequest, multi_inference),
            "GetModelMetadata": _method(get_model_metadata_pb2.GetModelMetadataRequest, metadata),
        }

    def _model_methods(self) -> dict[str, grpc_http2.Method]:
        models = self._models

        async def status(
            request: get_model_status_pb2.GetModelStatusRequest, deadline: float
        ) -> message.Message:
            call = calls.call_of(request.model_spec)
            return model_service.status_response(models, call)

        async def reload(
            request: model_management_pb2.ReloadConfigRequest, deadline: float
        ) -> message.Message:
            # Shielded: a client that hangs up must not leave half a configuration.
            return await asyncio.shield(model_service.reload_config(models, request))

        return {
            "GetModelStatus": _method(get_model_status_pb2.GetModelStatusRequest, status),
            "HandleReloadConfigRequest": _method(model_management_pb2.ReloadConfigRequest, reload),
        }

    async def _check_health(self, body: bytes, deadline: float) -> bytes:
        # HealthCheckRequest.service (1, text): empty for the server, else a model's name.
        service = body[2:].decode(errors="replace")
        models = self._models
        names = models.model_names
        if service and service not in names:
            raise errors.ServingError(errors.Code.NOT_FOUND, f"Unknown service: {service}")
        wanted = [service] if service else names
        is_ready = bool(wanted) and all(models.has_available(name) for name in wanted)
        return _SERVING if is_ready and not self.is_draining else _NOT_SERVING


class GrpcServer:
    """The gRPC front end."""

    def __init__(
        self,
        engine: inference.Inference,
        models: manager.Manager,
        *,
        front_end: Literal["grpcio", "http2"],
        has_health: bool,
        channel_arguments: list[tuple[str, str | int]],
    ):
        """Registers the services.

        Args:
            engine: What answers.
            models: What it answers with.
            front_end: `grpcio`, with everything; or `http2`, which is faster.
            has_health: Also answer grpc.health.v1, with the readiness of the models.
            channel_arguments: Passed to grpcio as they are.
        """
        self._services = Services(engine, models, has_health=has_health)
        self._server: _AioServer | http2_server.Http2Server
        if front_end == "grpcio":
            self._server = _AioServer(self._services, channel_arguments)
        else:
            methods = {
                f"/{service}/{name}": method
                for service, named in self._services.methods.items()
                for name, method in named.items()
            }
            self._server = http2_server.Http2Server(methods, max_message_bytes=_INT32_MAX)

    async def start(self, host: str, port: int, security: tls.Tls | None) -> int:
        """Starts to listen, with TLS or without, and returns the port.

        Raises:
            RuntimeError or OSError: If the port is taken.
        """
        if isinstance(self._server, _AioServer):
            credentials = None if security is None else security.credentials()
            return await self._server.start(host, port, credentials)
        context = None if security is None else security.context()
        return await self._server.start(host, port, tls=context)

    async def drain(self, seconds: float) -> None:
        """Accepts nothing more, and finishes what has begun for at most `seconds`."""
        self._services.is_draining = True
        await self._server.drain(seconds)


class _AioServer:
    """The services on grpc.aio."""

    def __init__(self, services: Services, channel_arguments: list[tuple[str, str | int]]):
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", _INT32_MAX),
                ("grpc.max_send_message_length", _INT32_MAX),
                # Two servers on one port would each get a share of the requests.
                ("grpc.so_reuseport", 0),
                *channel_arguments,
            ]
        )
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(
                    service, {name: _aio_handler(method) for name, method in named.items()}
                )
                for service, named in services.methods.items()
            )
        )

    async def start(self, host: str, port: int, credentials: grpc.ServerCredentials | None) -> int:
        # An IPv6 address has colons of its own.
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if credentials is None:
            bound = self._server.add_insecure_port(address)
        else:
            bound = self._server.add_secure_port(address, credentials)
        await self._server.start()
        return bound

    async def drain(self, seconds: float) -> None:
        await self._server.stop(seconds)


def _aio_handler(method: grpc_http2.Method) -> grpc.RpcMethodHandler:
    async def handle(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            return await method(body, _deadline(context))
        except errors.ServingError as error:
            code, text = error.code, error.message
        await context.abort(_STATUS_CODES[code], text)
        raise AssertionError("`abort` always raises.")

    return grpc.unary_unary_rpc_method_handler(handle)


def _method(
    request_class: type[message.Message],
    answer: Callable[[Any, float], Awaitable[message.Message]],
) -> grpc_http2.Method:
    """Makes a method of bytes from one of messages.

    Parsing is done here, not by gRPC, which would answer INTERNAL to bytes that are no message.
    """

    async def handle(body: bytes, deadline: float) -> bytes:
        response = await answer(request_class.FromString(body), deadline)
        return response.SerializeToString()

    return _guarded(request_class, handle)


def _guarded(request_class: type[message.Message], method: grpc_http2.Method) -> grpc_http2.Method:
    """Makes a ServingError of whatever goes wrong in a method."""

    async def handle(body: bytes, deadline: float) -> bytes:
        try:
            return await method(body, deadline)
        except message.DecodeError as error:
            name = request_class.DESCRIPTOR.full_name
            raise errors.invalid(f"The request must be a {name} message.") from error
        except errors.ServingError:
            raise
        except Exception as error:
            # A defect of ours; the client learns that it was not the request.
            _log.exception("A gRPC request failed.")
            raise errors.ServingError(errors.Code.INTERNAL, type(error).__name__) from error

    return handle


def _deadline(context: grpc.aio.ServicerContext) -> float:
    remaining = context.time_remaining()
    return time.monotonic() + (_NO_DEADLINE_SECS if remaining is None else remaining)


_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}
