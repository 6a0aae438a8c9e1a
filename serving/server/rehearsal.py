"""Plays a model's first request before its first user sends it.

The first request through new connections, new code and a new graph takes several times as long as
those after it. So each version that was loaded is asked over both front ends' own connections,
which differ from a user's in nothing but their socket, before it is given to users. What is played
is not counted and not logged.
"""

import asyncio
import base64
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

import hpack
import numpy as np
from tensorflow_serving.apis import predict_pb2

from serving.server import (
    backends,
    calls,
    grpc_http2,
    http2_wire,
    http_messages,
    http_protocol,
    inference,
    metrics,
    rest_predict,
    tensor_codec,
    versions,
)

# Python specialises code that has run eight times.
_NUM_REQUESTS = 10
# When only the model is new, and the code has run before.
_NUM_LATER_REQUESTS = 2
# Larger ones would take longer to write and to read than they save.
_MAX_SAMPLE_BYTES = 64 * 1024
_ANSWER_SECS = 10.0
_PATH = b"/tensorflow.serving.PredictionService/Predict"

# From what has been received of an answer: whether it is whole.
_IsWhole = Callable[[bytes], bool]


class Rehearsal:
    """Plays requests through both front ends."""

    def __init__(self, *, as_content: bool):
        """Prepares.

        Args:
            as_content: Answer with tensors in `tensor_content`, as users are answered.
        """
        self._as_content = as_content
        self._num_requests = _NUM_REQUESTS

    async def play(self, name: str, version: versions.Version) -> None:
        """Asks a loaded version for one row, several times; what it answers does not matter.

        Args:
            name: The model's name.
            version: Loaded, with a batcher, and not yet available. One without warm-up records, or
                with a large row, is left as it is.
        """
        sample = version.model.sample
        if sample is None or _num_bytes(sample[1]) > _MAX_SAMPLE_BYTES:
            return
        signature_name, inputs = sample
        engine = inference.Inference(
            _OneVersion(version), metrics.Metrics(), as_content=self._as_content
        )
        num_requests, self._num_requests = self._num_requests, _NUM_LATER_REQUESTS
        await _converse(
            _grpc_connection(engine),
            http2_wire.PREFACE + http2_wire.frame(http2_wire.SETTINGS, 0, 0),
            [
                _grpc_request(name, signature_name, inputs, 2 * index + 1)
                for index in range(num_requests)
            ],
            _has_trailers,
        )
        if any(array.dtype.kind == "c" for array in inputs.values()):
            # There are no complex numbers in JSON.
            return
        await _converse(
            _rest_connection(engine, name),
            b"",
            [_rest_request(signature_name, inputs)] * num_requests,
            _has_body,
        )


class _OneVersion:
    """What `Inference` asks of a manager; without settings nothing is counted or logged."""

    def __init__(self, version: versions.Version):
        self._version = version

    def find(self, name: str, *, version: int | None = None, label: str = "") -> versions.Version:
        return self._version

    def config(self, name: str) -> None:
        return None


def _grpc_connection(engine: inference.Inference) -> asyncio.Protocol:
    return grpc_http2.Connection({_PATH: engine.predict}, 2 * _MAX_SAMPLE_BYTES, set())


def _rest_connection(engine: inference.Inference, name: str) -> asyncio.Protocol:
    predictor = rest_predict.Predictor(engine)
    call = calls.Call(model_name=name, entrypoint="REST")

    async def handle(request: http_messages.Request) -> http_messages.Response:
        until = asyncio.get_running_loop().time() + _ANSWER_SECS
        return http_messages.Response(200, await predictor.predict(call, request.body, until))

    return http_protocol.Connection(handle, http_protocol.Limits(), set())


async def _converse(
    protocol: asyncio.Protocol, greeting: bytes, requests: list[bytes], is_whole: _IsWhole
) -> None:
    """Sends each request when the one before it is answered."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, theirs)
    try:
        await loop.sock_sendall(ours, greeting)
        for request in requests:
            await loop.sock_sendall(ours, request)
            async with asyncio.timeout(_ANSWER_SECS):
                received = b""
                while not is_whole(received):
                    received += await loop.sock_recv(ours, 1 << 16) or _closed()
    except (OSError, TimeoutError):
        # A rehearsal that fails is no reason to keep a model that was loaded from its users.
        pass
    finally:
        transport.close()
        ours.close()


def _closed() -> bytes:
    raise ConnectionResetError("The connection was closed before the answer.")


def _grpc_request(name: str, signature_name: str, inputs: backends.Arrays, stream_id: int) -> bytes:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature_name
    for key, array in inputs.items():
        tensor_codec.encode_into(request.inputs[key], array, as_content=True)
    message = request.SerializeToString()
    encoder = hpack.Encoder()
    # Each connection's decoder would have to have seen the blocks before.
    encoder.header_table_size = 0
    headers = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", _PATH),
        (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return http2_wire.frame(
        http2_wire.HEADERS, http2_wire.END_HEADERS, stream_id, encoder.encode(headers)
    ) + http2_wire.frame(http2_wire.DATA, http2_wire.END_STREAM, stream_id, body)


def _has_trailers(received: bytes) -> bool:
    """Tells whether a call has ended, after whatever frames."""
    start = 0
    while len(received) - start >= 9:
        kind, flags = received[start + 3 : start + 5]
        start += 9 + int.from_bytes(received[start : start + 3], "big")
        if len(received) < start:
            break
        if kind == http2_wire.HEADERS and flags & http2_wire.END_STREAM:
            return True
    return False


def _rest_request(signature_name: str, inputs: backends.Arrays) -> bytes:
    values = {key: _to_json(array.tolist()) for key, array in inputs.items()}
    document: dict[str, Any] = {"signature_name": signature_name, "inputs": values}
    if len(values) == 1 and isinstance(value := next(iter(values.values())), list):
        document = {"signature_name": signature_name, "instances": value}
    body = json.dumps(document).encode()
    head = (
        "POST / HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _to_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_json(each) for each in value]
    return {"b64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _has_body(received: bytes) -> bool:
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator:
        return False
    length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
    return len(body) >= int(length or 0)


def _num_bytes(inputs: Mapping[str, np.ndarray]) -> int:
    return sum(
        sum(map(len, array.ravel())) if array.dtype.hasobject else array.nbytes
        for array in inputs.values()
    )
