"""Listens for gRPC on our own HTTP/2 connections."""

from collections.abc import Mapping

from serving.server import grpc_http2, listening


class Http2Server(listening.Listener):
    """Answers unary calls."""

    def __init__(self, methods: Mapping[str, grpc_http2.Method], *, max_message_bytes: int):
        """Prepares to answer.

        Args:
            methods: By path, such as `/package.Service/Method`.
            max_message_bytes: A larger request is refused with RESOURCE_EXHAUSTED.
        """
        by_path = {path.encode(): method for path, method in methods.items()}
        super().__init__(
            lambda: grpc_http2.Connection(by_path, max_message_bytes, self.connections)
        )
