"""What a call to a server can end with, the same over gRPC and REST."""

_CODES_BY_HTTP_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ServerError(Exception):
    """The server, or the way to it, did not answer the request.

    Attributes:
        code: The name of a gRPC status code, such as `NOT_FOUND`.
        message: The server's own words.
    """

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def code_of_http_status(status: int) -> str:
    """Returns the code that an HTTP status stands for.

    >>> code_of_http_status(503), code_of_http_status(500)
    ('UNAVAILABLE', 'INTERNAL')
    """
    return _CODES_BY_HTTP_STATUS.get(status, "INTERNAL")
