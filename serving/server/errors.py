"""The one exception that carries a protocol status from any layer to REST and gRPC."""

import enum


class Code(enum.IntEnum):
    """gRPC's status codes, which TensorFlow shares."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_HTTP_STATUS = {
    Code.OK: 200,
    Code.INVALID_ARGUMENT: 400,
    Code.FAILED_PRECONDITION: 400,
    Code.OUT_OF_RANGE: 400,
    Code.UNAUTHENTICATED: 401,
    Code.PERMISSION_DENIED: 403,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.ABORTED: 409,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.CANCELLED: 499,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.DEADLINE_EXCEEDED: 504,
}


class ServingError(Exception):
    """A request cannot be answered; the message goes to the client as it is."""

    def __init__(self, code: Code, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


def http_status(code: Code) -> int:
    """Returns the HTTP status for a code, as TF Serving chooses it.

    >>> http_status(Code.NOT_FOUND), http_status(Code.DATA_LOSS)
    (404, 500)
    """
    return _HTTP_STATUS.get(code, 500)


def invalid(message: str) -> ServingError:
    """Returns the most common error: the client's arguments are wrong."""
    return ServingError(Code.INVALID_ARGUMENT, message)
