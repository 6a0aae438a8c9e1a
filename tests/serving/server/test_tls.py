import datetime
import ipaddress
import socket
import ssl
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from serving.client import client, errors
from serving.server import text_protos, tls
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


@pytest.fixture(scope="module", params=["grpcio", "http2"])
def frontend(request):
    return request.param


def write_config(folder, certificate, **fields):
    config = text_protos.new_message("SSLConfig")
    config.server_key, config.server_cert = certificate
    for name, value in fields.items():
        setattr(config, name, value)
    (folder / "ssl.config").write_text(str(config))
    return folder / "ssl.config"


def serve(folder, certificate, frontend, **fields):
    model_factory.write_half_plus(folder / "m" / "1", offset=1)
    path = write_config(folder, certificate, **fields)
    settings = {"model_name": "m", "model_base_path": str(folder / "m")}
    return harness.serve(**settings, ssl_config_file=str(path), grpc_frontend=frontend)


def ask(server, authority, *key_and_chain):
    """Asks for the model's status with a stock channel."""
    credentials = grpc.ssl_channel_credentials(authority.encode(), *key_and_chain)
    with grpc.secure_channel(f"127.0.0.1:{server.app.grpc_port}", credentials) as channel:
        method = channel.unary_unary("/tensorflow.serving.ModelService/GetModelStatus")
        return method(b"\n\x03\n\x01m", timeout=20)


@pytest.fixture(scope="module")
def server(certificate, frontend, tmp_path_factory):
    with serve(tmp_path_factory.mktemp("tls"), certificate, frontend) as running:
        yield running


def test_client_that_trusts_the_certificate_is_answered(server, certificate):
    address = f"grpcs://127.0.0.1:{server.app.grpc_port}"
    with client.Client(address, "m", root_certificates=certificate[1].encode()) as one:
        assert one.predict([[2.0]])["y"].item() == 2.0
        rows = np.zeros((200_000, 1), np.float32)
        assert one.predict(rows)["y"].shape == rows.shape


def test_stock_stub_is_answered(server, certificate):
    credentials = grpc.ssl_channel_credentials(certificate[1].encode())
    address = f"127.0.0.1:{server.app.grpc_port}"
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([[2.0]]))
    with grpc.secure_channel(address, credentials) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        assert list(stub.Predict(request, timeout=20).outputs["y"].float_val) == [2.0]


def test_client_that_does_not_trust_the_certificate_is_not_answered(server):
    with pytest.raises(grpc.RpcError):
        ask(server, make_certificate()[1])


def test_client_without_tls_is_not_answered(server):
    address = f"grpc://127.0.0.1:{server.app.grpc_port}"
    with (
        client.Client(address, "m", max_retries=0, timeout_secs=10) as one,
        pytest.raises(errors.ServerError),
    ):
        one.status()


def test_client_without_a_certificate_is_refused_where_one_is_asked_for(
    tmp_path, certificate, frontend
):
    theirs = make_certificate()
    fields = {"custom_ca": theirs[1], "client_verify": True}
    with serve(tmp_path, certificate, frontend, **fields) as server:
        assert ask(server, certificate[1], *(part.encode() for part in theirs))
        with pytest.raises(grpc.RpcError):
            ask(server, certificate[1])


def test_http2_is_the_only_protocol_on_offer(certificate):
    names = []
    ours = tls.Tls(*certificate).context()
    ends = ssl.create_default_context(cadata=certificate[1])
    ends.set_alpn_protocols(["http/1.1", "h2"])
    left, right = socket.socketpair()

    def accept():
        with ours.wrap_socket(left, server_side=True) as wrapped:
            names.append(wrapped.selected_alpn_protocol())

    thread = threading.Thread(target=accept)
    thread.start()
    with ends.wrap_socket(right, server_hostname="127.0.0.1") as wrapped:
        names.append(wrapped.selected_alpn_protocol())
    thread.join(20)
    assert names == ["h2", "h2"]


def test_key_of_another_certificate_is_refused(tmp_path, certificate):
    path = write_config(tmp_path, (make_certificate()[0], certificate[1]))
    with pytest.raises(ValueError, match="must hold PEM texts.*KEY_VALUES_MISMATCH"):
        tls.read_config(path)


def test_text_that_is_no_certificate_is_refused(tmp_path, certificate):
    path = write_config(tmp_path, (certificate[0], "none"))
    with pytest.raises(ValueError, match="must hold PEM texts"):
        tls.read_config(path)


def test_config_without_a_key_is_refused(tmp_path, certificate):
    path = write_config(tmp_path, ("", certificate[1]))
    with pytest.raises(ValueError, match="must have a server_key and a server_cert"):
        tls.read_config(path)


def test_clients_cannot_be_verified_without_an_authority(tmp_path, certificate):
    path = write_config(tmp_path, certificate, client_verify=True)
    with pytest.raises(ValueError, match="client_verify must have a custom_ca"):
        tls.read_config(path)


def test_key_is_not_in_the_text_of_the_object(certificate):
    assert "PRIVATE KEY" not in repr(tls.Tls(*certificate))
