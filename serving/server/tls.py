"""TLS for gRPC, from TensorFlow Serving's SSLConfig."""

import dataclasses
import os
import pathlib
import ssl
import tempfile

import grpc

from serving.server import text_protos


@dataclasses.dataclass(frozen=True)
class Tls:
    """A server's key and certificate, and whom it asks for theirs; all in PEM."""

    key: str = dataclasses.field(repr=False)
    certificate: str
    client_authority: str = ""  # What clients' certificates are signed by.
    is_client_verified: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """Returns it for grpcio."""
        return grpc.ssl_server_credentials(
            [(self.key.encode(), self.certificate.encode())],
            root_certificates=self.client_authority.encode() or None,
            require_client_auth=self.is_client_verified,
        )

    def context(self) -> ssl.SSLContext:
        """Returns it for Python's own sockets, with HTTP/2 as the only protocol on offer.

        Raises:
            ValueError: If the PEM texts are none, or the key is not the certificate's.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2"])
        try:
            _load_chain(context, self.certificate + "\n" + self.key)
            if self.client_authority:
                context.load_verify_locations(cadata=self.client_authority)
        except ssl.SSLError as error:
            raise ValueError(
                "An SSLConfig must hold PEM texts: a server_key without a passphrase, its "
                f"server_cert, and a custom_ca or none. Received: {error}."
            ) from error
        if self.is_client_verified:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _load_chain(context: ssl.SSLContext, pem: str) -> None:
    """Loads a key and its certificate, which Python reads from files only."""
    descriptor, path = tempfile.mkstemp()  # Readable for its owner only.
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(pem)
        # An empty passphrase, so that nobody is asked for one on the terminal.
        context.load_cert_chain(path, password="")
    finally:
        pathlib.Path(path).unlink()


def read_config(path: pathlib.Path) -> Tls:
    """Reads a text proto of SSLConfig.

    Raises:
        ValueError: If it is malformed, or its parts do not fit each other.
    """
    parsed = text_protos.parse_file(path, text_protos.new_message("SSLConfig"))
    if not parsed.server_key or not parsed.server_cert:
        raise ValueError(
            f"An SSLConfig must have a server_key and a server_cert. Received: "
            f"ssl_config_file={str(path)!r}."
        )
    if parsed.client_verify and not parsed.custom_ca:
        raise ValueError(
            "An SSLConfig with client_verify must have a custom_ca, which the clients' "
            f"certificates are signed by. Received: ssl_config_file={str(path)!r}."
        )
    tls = Tls(parsed.server_key, parsed.server_cert, parsed.custom_ca, parsed.client_verify)
    # grpcio would say of wrong texts only that the port cannot be bound.
    tls.context()
    return tls
