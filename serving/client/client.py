"""Client and AsyncClient: one interface over gRPC and REST, for this server and TF Serving."""

import asyncio
import dataclasses
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from serving.client import errors, inputs, operations, tensors, transports

DEFAULT_SIGNATURE = "serving_default"
_FIRST_DELAY_SECS = 0.05
_MAX_DELAY_SECS = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How a client calls.

    Attributes:
        version: Ask this version; None: the label's, or the latest.
        label: Ask the version with this label.
        timeout_secs: Budget of one call, retries and chunks included; > 0.
        max_retries: How often to try again, only while the server is unavailable; >= 0.
        max_rows: Send at most so many rows in one request, and join the answers; None: all at once.
        root_certificates: PEM certificates to trust; None: the system's.
    """

    version: int | None = None
    label: str | None = None
    timeout_secs: float = 30.0
    max_retries: int = 4
    max_rows: int | None = None
    root_certificates: bytes | None = None

    def __post_init__(self) -> None:
        if self.version is not None and self.label is not None:
            raise ValueError(
                "A version and a label name two versions; set one of them. "
                f"Received: version={self.version}, label={self.label!r}."
            )
        has_no_rows = self.max_rows is not None and self.max_rows < 1
        if self.timeout_secs <= 0 or self.max_retries < 0 or has_no_rows:
            raise ValueError(
                "timeout_secs and max_rows must be positive, max_retries at least 0. Received: "
                f"timeout_secs={self.timeout_secs}, max_retries={self.max_retries}, "
                f"max_rows={self.max_rows}."
            )


class Client:
    """Asks one model on one server; may be shared by threads.

    >>> client = Client("http://localhost:8501", "fashion_mnist", timeout_secs=5.0)
    >>> client.close()
    """

    def __init__(self, address: str, model: str, **options: Any):
        """Makes a client; nothing is sent yet.

        Args:
            address: `grpc://host:port` or `http://host:port`; grpcs and https for TLS.
            model: The model's name on the server.
            **options: Fields of `Options`.

        Raises:
            ValueError: If the address or an option is wrong.
        """
        self._options = Options(**options)
        self._target = _target(model, self._options)
        scheme, host = transports.split_address(address)
        make = transports.GrpcTransport if scheme.startswith("grpc") else transports.RestTransport
        self._transport: transports.Transport = make(scheme, host, self._options.root_certificates)
        self._signatures: dict[str, tensors.Signature] | None = None

    def signatures(self) -> dict[str, tensors.Signature]:
        """Returns the model's signatures; they are fetched once."""
        return self._fetch_signatures(time.monotonic() + self._options.timeout_secs)

    def predict(
        self, values: Any, *, signature_name: str = DEFAULT_SIGNATURE
    ) -> dict[str, np.ndarray]:
        """Runs a signature.

        Args:
            values: See `inputs.convert`: a dict, or the value of the only input.
            signature_name: The signature.

        Returns:
            Arrays by output name; texts are bytes in an object array.

        Raises:
            ValueError: If the inputs do not fit the signature; nothing is sent.
            ServerError: If the server does not answer in time, or refuses.
        """
        deadline = time.monotonic() + self._options.timeout_secs
        signature = _find(self._fetch_signatures(deadline), signature_name)
        arrays = inputs.convert(values, signature)
        answers = [
            self._call(operations.Predict(self._target, signature_name, signature, part), deadline)
            for part in split_rows(arrays, self._options.max_rows)
        ]
        return _join(answers)

    def status(self) -> list[operations.VersionStatus]:
        """Returns the state of the model's versions, the newest first."""
        operation = operations.GetStatus(self._target)
        statuses: list[operations.VersionStatus] = self._call(
            operation, time.monotonic() + self._options.timeout_secs
        )
        return statuses

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fetch_signatures(self, deadline: float) -> dict[str, tensors.Signature]:
        if self._signatures is None:
            self._signatures = self._call(operations.GetSignatures(self._target), deadline)
        return self._signatures

    def _call(self, operation: operations.Operation, deadline: float) -> Any:
        for attempt in range(self._options.max_retries + 1):
            try:
                return self._transport.send(operation, _remaining(deadline))
            except errors.ServerError as error:
                delay = _delay(error, attempt, self._options.max_retries, deadline)
                if delay is None:
                    raise
            time.sleep(delay)
        raise AssertionError("The last attempt returns or raises.")


class AsyncClient:
    """The same as `Client`, for coroutines of one event loop; parts of a request run at once."""

    def __init__(self, address: str, model: str, **options: Any):
        """Makes a client; see `Client`."""
        self._options = Options(**options)
        self._target = _target(model, self._options)
        self._address = transports.split_address(address)
        self._transport: transports.AsyncTransport | None = None
        self._signatures: dict[str, tensors.Signature] | None = None

    async def signatures(self) -> dict[str, tensors.Signature]:
        """Returns the model's signatures; they are fetched once."""
        return await self._fetch_signatures(time.monotonic() + self._options.timeout_secs)

    async def predict(
        self, values: Any, *, signature_name: str = DEFAULT_SIGNATURE
    ) -> dict[str, np.ndarray]:
        """Runs a signature; see `Client.predict`."""
        deadline = time.monotonic() + self._options.timeout_secs
        signature = _find(await self._fetch_signatures(deadline), signature_name)
        arrays = inputs.convert(values, signature)
        calls = [
            self._call(operations.Predict(self._target, signature_name, signature, part), deadline)
            for part in split_rows(arrays, self._options.max_rows)
        ]
        return _join(await asyncio.gather(*calls))

    async def status(self) -> list[operations.VersionStatus]:
        """Returns the state of the model's versions, the newest first."""
        operation = operations.GetStatus(self._target)
        statuses: list[operations.VersionStatus] = await self._call(
            operation, time.monotonic() + self._options.timeout_secs
        )
        return statuses

    async def close(self) -> None:
        """Closes the connections."""
        if self._transport is not None:
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _fetch_signatures(self, deadline: float) -> dict[str, tensors.Signature]:
        if self._signatures is None:
            self._signatures = await self._call(operations.GetSignatures(self._target), deadline)
        return self._signatures

    async def _call(self, operation: operations.Operation, deadline: float) -> Any:
        if self._transport is None:
            # Made on first use, inside the event loop that grpc.aio binds itself to.
            self._transport = self._make_transport()
        for attempt in range(self._options.max_retries + 1):
            try:
                return await self._transport.send(operation, _remaining(deadline))
            except errors.ServerError as error:
                delay = _delay(error, attempt, self._options.max_retries, deadline)
                if delay is None:
                    raise
            await asyncio.sleep(delay)
        raise AssertionError("The last attempt returns or raises.")

    def _make_transport(self) -> transports.AsyncTransport:
        scheme, host = self._address
        if scheme.startswith("grpc"):
            return transports.AsyncGrpcTransport(scheme, host, self._options.root_certificates)
        return transports.AsyncRestTransport(scheme, host, self._options.root_certificates)


def split_rows(
    arrays: Mapping[str, np.ndarray], max_rows: int | None
) -> Iterator[dict[str, np.ndarray]]:
    """Gives the arrays in parts of at most `max_rows` rows; whole, if they have no common rows.

    >>> [len(part["x"]) for part in split_rows({"x": np.zeros(5)}, 2)]
    [2, 2, 1]
    """
    counts = {array.shape[0] if array.ndim else None for array in arrays.values()}
    num_rows = counts.pop() if len(counts) == 1 else None
    if max_rows is None or num_rows is None or num_rows <= max_rows:
        yield dict(arrays)
        return
    for start in range(0, num_rows, max_rows):
        yield {name: array[start : start + max_rows] for name, array in arrays.items()}


def _target(model: str, options: Options) -> operations.Target:
    return operations.Target(model, options.version, options.label)


def _find(signatures: Mapping[str, tensors.Signature], name: str) -> tensors.Signature:
    if name not in signatures:
        raise ValueError(
            f"The model has no such signature. Received: signature_name={name!r}; "
            f"it has {list(signatures)}."
        )
    return signatures[name]


def _join(answers: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if len(answers) == 1:
        return answers[0]
    return {name: np.concatenate([answer[name] for answer in answers]) for name in answers[0]}


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise errors.ServerError("DEADLINE_EXCEEDED", "The budget of the call is used up.")
    return remaining


def _delay(
    error: errors.ServerError, attempt: int, max_retries: int, deadline: float
) -> float | None:
    """Returns how long to wait before the next attempt; None if there is to be none."""
    if error.code != "UNAVAILABLE" or attempt >= max_retries:
        return None
    longest = min(_MAX_DELAY_SECS, _FIRST_DELAY_SECS * 2**attempt)
    # Jitter keeps clients that failed together from coming back together.
    delay = random.uniform(longest / 2, longest)
    return delay if time.monotonic() + delay < deadline else None
