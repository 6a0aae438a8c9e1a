import pytest
from google.protobuf import json_format, text_format
from tensorflow_serving.config import model_server_config_pb2

from serving.deploy import server_files
from serving.server import text_protos

KEY = "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n"
CERTIFICATE = KEY.replace("PRIVATE KEY", "CERTIFICATE")


def read(text, message):
    """A text proto as plain data, without the fields at their defaults."""
    return json_format.MessageToDict(
        text_format.Parse(text, message), preserving_proto_field_name=True
    )


def test_models_config_is_a_model_server_config(full_config):
    text = server_files.render(full_config)["models.config"]
    assert read(text, model_server_config_pb2.ModelServerConfig()) == {
        "model_config_list": {
            "config": [
                {
                    "name": "digits",
                    "base_path": "/models/digits/published",
                    "model_platform": "tensorflow",
                    "model_version_policy": {"specific": {"versions": ["3", "4"]}},
                    "version_labels": {"stable": "3", "canary": "4"},
                },
                {
                    "name": "fashion_mnist",
                    "base_path": "/models/elsewhere/fashion",
                    "model_platform": "tensorflow",
                    "model_version_policy": {"latest": {"num_versions": 2}},
                },
            ]
        }
    }


def test_batching_config_is_batching_parameters(full_config):
    text = server_files.render(full_config)["batching.config"]
    # JSON writes a wrapped value as the value itself.
    assert read(text, text_protos.new_message("BatchingParameters")) == {
        "max_batch_size": "128",
        "batch_timeout_micros": "1000",
        "max_enqueued_batches": "1000",
        "num_batch_threads": "2",
        "allowed_batch_sizes": ["1", "8", "128"],
        "pad_variable_length_inputs": True,
    }


def test_timeout_of_zero_is_written_apart_from_an_unset_one(make_config):
    config = make_config(batching={"batch_timeout_micros": 0})
    message = text_protos.new_message("BatchingParameters")
    text_format.Parse(server_files.render(config)["batching.config"], message)
    assert message.HasField("batch_timeout_micros")


def test_monitoring_config_turns_on_prometheus(make_config):
    text = server_files.render(make_config())["monitoring.config"]
    assert read(text, text_protos.new_message("MonitoringConfig")) == {
        "prometheus_config": {"enable": True, "path": "/monitoring/prometheus/metrics"}
    }


def test_parts_that_are_turned_off_have_no_file(make_config):
    config = make_config(batching={"is_enabled": False}, monitoring={"is_enabled": False})
    assert list(server_files.render(config)) == ["models.config"]


def test_ssl_config_holds_the_pem_files_and_asks_for_client_certificates():
    text = server_files.ssl_config(key=KEY, certificate=CERTIFICATE, client_authority=CERTIFICATE)
    assert read(text, text_protos.new_message("SSLConfig")) == {
        "server_key": KEY,
        "server_cert": CERTIFICATE,
        "custom_ca": CERTIFICATE,
        "client_verify": True,
    }


def test_ssl_config_without_an_authority_asks_clients_for_nothing():
    text = server_files.ssl_config(key=KEY, certificate=CERTIFICATE)
    assert read(text, text_protos.new_message("SSLConfig")).keys() == {"server_key", "server_cert"}


def test_certificate_that_is_not_pem_is_refused_without_showing_it():
    with pytest.raises(ValueError, match="certificate must be PEM") as caught:
        server_files.ssl_config(key=KEY, certificate="secret")
    assert "secret" not in str(caught.value)
