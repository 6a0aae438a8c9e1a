"""The four ways to send an operation: gRPC or REST, and waiting or async."""

from collections.abc import Awaitable
from typing import Any, Protocol

from serving.client import errors, operations

_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Transport(Protocol):
    """Sends an operation and waits for its result."""

    def send(self, operation: operations.Operation, timeout_secs: float) -> Any:
        """Returns the result; raises ServerError."""

    def close(self) -> None:
        """Closes the connections."""


class AsyncTransport(Protocol):
    """Sends an operation from a coroutine."""

    def send(self, operation: operations.Operation, timeout_secs: float) -> Awaitable[Any]:
        """Returns the result; raises ServerError."""

    def close(self) -> Awaitable[None]:
        """Closes the connections."""


def split_address(address: str) -> tuple[str, str]:
    """Returns the scheme and the rest of an address.

    Raises:
        ValueError: If the scheme is not grpc, grpcs, http or https, or there is no host.

    >>> split_address("grpc://localhost:8500")
    ('grpc', 'localhost:8500')
    """
    scheme, separator, rest = address.partition("://")
    if scheme not in ("grpc", "grpcs", "http", "https") or not separator or not rest.strip("/"):
        raise ValueError(
            "An address must be grpc://host:port, grpcs://, http:// or https://. "
            f"Received: address={address!r}."
        )
    return scheme, rest.rstrip("/")


class GrpcTransport:
    """One channel, which reconnects by itself."""

    def __init__(self, scheme: str, host: str, root_certificates: bytes | None):
        # Imported here, so that each transport costs only its own library.
        import grpc

        self._grpc = grpc
        if scheme == "grpcs":
            credentials = grpc.ssl_channel_credentials(root_certificates)
            self._channel = grpc.secure_channel(host, credentials, _UNLIMITED)
        else:
            self._channel = grpc.insecure_channel(host, _UNLIMITED)

    def send(self, operation: operations.Operation, timeout_secs: float) -> Any:
        """Returns the result; raises ServerError."""
        call = self._channel.unary_unary(operation.grpc_method)
        try:
            body = call(operation.grpc_request(), timeout=timeout_secs)
        except self._grpc.RpcError as error:
            raise errors.ServerError(error.code().name, error.details() or "") from None
        return operation.read_grpc(body)

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()


class AsyncGrpcTransport:
    """One channel of grpc.aio."""

    def __init__(self, scheme: str, host: str, root_certificates: bytes | None):
        import grpc

        if scheme == "grpcs":
            credentials = grpc.ssl_channel_credentials(root_certificates)
            self._channel = grpc.aio.secure_channel(host, credentials, _UNLIMITED)
        else:
            self._channel = grpc.aio.insecure_channel(host, _UNLIMITED)
        self._error = grpc.aio.AioRpcError

    async def send(self, operation: operations.Operation, timeout_secs: float) -> Any:
        """Returns the result; raises ServerError."""
        call = self._channel.unary_unary(operation.grpc_method)
        try:
            body = await call(operation.grpc_request(), timeout=timeout_secs)
        except self._error as error:
            raise errors.ServerError(error.code().name, error.details() or "") from None
        return operation.read_grpc(body)

    async def close(self) -> None:
        """Closes the channel."""
        await self._channel.close()


class RestTransport:
    """A pool of kept-alive connections."""

    def __init__(self, scheme: str, host: str, root_certificates: bytes | None):
        import httpx

        self._httpx = httpx
        self._client = httpx.Client(
            base_url=f"{scheme}://{host}", verify=_tls_context(root_certificates)
        )

    def send(self, operation: operations.Operation, timeout_secs: float) -> Any:
        """Returns the result; raises ServerError."""
        try:
            response = self._client.request(
                operation.http_method,
                operation.http_path(),
                content=operation.http_body(),
                timeout=timeout_secs,
            )
        except self._httpx.TransportError as error:
            raise _transport_error(error, self._httpx.TimeoutException) from None
        return operations.read_http_answer(operation, response.status_code, response.content)

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


class AsyncRestTransport:
    """A pool of kept-alive connections for coroutines."""

    def __init__(self, scheme: str, host: str, root_certificates: bytes | None):
        import httpx

        self._httpx = httpx
        self._client = httpx.AsyncClient(
            base_url=f"{scheme}://{host}", verify=_tls_context(root_certificates)
        )

    async def send(self, operation: operations.Operation, timeout_secs: float) -> Any:
        """Returns the result; raises ServerError."""
        try:
            response = await self._client.request(
                operation.http_method,
                operation.http_path(),
                content=operation.http_body(),
                timeout=timeout_secs,
            )
        except self._httpx.TransportError as error:
            raise _transport_error(error, self._httpx.TimeoutException) from None
        return operations.read_http_answer(operation, response.status_code, response.content)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


def _tls_context(root_certificates: bytes | None) -> Any:
    if root_certificates is None:
        return True
    import ssl

    return ssl.create_default_context(cadata=root_certificates.decode())


def _transport_error(error: Exception, timeout: type[Exception]) -> errors.ServerError:
    """Only a server that cannot be reached is UNAVAILABLE: it has not seen the request."""
    if isinstance(error, timeout):
        return errors.ServerError("DEADLINE_EXCEEDED", str(error) or "The deadline passed.")
    is_unreachable = type(error).__name__ == "ConnectError"
    return errors.ServerError("UNAVAILABLE" if is_unreachable else "UNKNOWN", str(error))
