import datetime
import ipaddress

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from serving.client import client, errors
from serving.server import text_protos
from tests.serving import harness, model_factory


def make_certificate() -> tuple[str, str]:
    """Returns a key and a certificate for 127.0.0.1 that signs itself, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return key_pem.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def certificate():
    return make_certificate()


def serve(folder, certificate, **fields):
    model_factory.write_half_plus(folder / "m" / "1", offset=1)
    config = text_protos.new_message("SSLConfig")
    config.server_key, config.server_cert = certificate
    for name, value in fields.items():
        setattr(config, name, value)
    (folder / "ssl.config").write_text(str(config))
    settings = {"model_name": "m", "model_base_path": str(folder / "m")}
    return harness.serve(**settings, ssl_config_file=str(folder / "ssl.config"))


def test_client_that_trusts_the_certificate_is_answered(tmp_path, certificate):
    with serve(tmp_path, certificate) as server:
        address = f"grpcs://127.0.0.1:{server.app.grpc_port}"
        with client.Client(address, "m", root_certificates=certificate[1].encode()) as one:
            assert one.predict([[2.0]])["y"].item() == 2.0


def test_client_without_tls_is_not_answered(tmp_path, certificate):
    with serve(tmp_path, certificate) as server:
        address = f"grpc://127.0.0.1:{server.app.grpc_port}"
        with (
            client.Client(address, "m", max_retries=0, timeout_secs=10) as one,
            pytest.raises(errors.ServerError),
        ):
            one.status()


def test_client_without_a_certificate_is_refused_where_one_is_asked_for(tmp_path, certificate):
    ours, theirs = certificate, make_certificate()
    with serve(tmp_path, ours, custom_ca=theirs[1], client_verify=True) as server:
        address = f"127.0.0.1:{server.app.grpc_port}"
        method = "/tensorflow.serving.ModelService/GetModelStatus"

        def ask(*key_and_chain):
            credentials = grpc.ssl_channel_credentials(ours[1].encode(), *key_and_chain)
            with grpc.secure_channel(address, credentials) as channel:
                return channel.unary_unary(method)(b"\n\x03\n\x01m", timeout=20)

        assert ask(*(part.encode() for part in theirs))
        with pytest.raises(grpc.RpcError):
            ask()
