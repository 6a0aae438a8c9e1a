"""The files that the server reads at its start: models, batching, monitoring and TLS."""

from collections.abc import Mapping
from typing import Any

from serving.deploy import config as deploy_config
from serving.deploy import served, text_proto

MODELS = "models.config"
BATCHING = "batching.config"
MONITORING = "monitoring.config"
SSL = "ssl.config"
# Where the container finds models and files.
MODELS_DIR = "/models"
CONFIG_DIR = "/etc/kerasline"
TLS_DIR = "/etc/kerasline-tls"


def render(config: deploy_config.DeployConfig) -> dict[str, str]:
    """Returns file name -> text proto, for the files that the config asks for."""
    files = {MODELS: text_proto.dumps(_models(config))}
    if config.batching.is_enabled:
        files[BATCHING] = text_proto.dumps(_batching(config.batching))
    if config.monitoring.is_enabled:
        prometheus = {"enable": True, "path": config.monitoring.path}
        files[MONITORING] = text_proto.dumps({"prometheus_config": prometheus})
    return files


def ssl_config(*, key: str, certificate: str, client_authority: str | None = None) -> str:
    """Returns an SSLConfig text proto, which holds the private key: keep it secret.

    Args:
        key: The server's private key, as PEM.
        certificate: Its certificate and the chain above it, as PEM.
        client_authority: The authority that clients' certificates must come from, as PEM; None lets
            clients without a certificate in.

    Raises:
        ValueError: If a text is not PEM.
    """
    for what, text in (
        ("key", key),
        ("certificate", certificate),
        ("client_authority", client_authority),
    ):
        if text is not None and not (text.startswith("-----BEGIN ") and text.isascii()):
            raise ValueError(
                f"{what} must be PEM, which begins with -----BEGIN. "
                f"Received: {len(text)} characters of something else. Convert it with openssl."
            )
    message: dict[str, Any] = {"server_key": key, "server_cert": certificate}
    if client_authority is not None:
        message |= {"custom_ca": client_authority, "client_verify": True}
    return text_proto.dumps(message)


def _models(config: deploy_config.DeployConfig) -> Mapping[str, Any]:
    return {"model_config_list": {"config": [_model(model) for model in config.models]}}


def _model(model: served.ServedModel) -> Mapping[str, Any]:
    policy: Mapping[str, Any] = (
        {"specific": {"versions": sorted(model.versions)}}
        if model.versions
        else {"latest": {"num_versions": model.latest}}
    )
    labels = [{"key": label, "value": number} for label, number in sorted(model.labels.items())]
    return {
        "name": model.name,
        "base_path": f"{MODELS_DIR}/{model.folder}",
        "model_platform": "tensorflow",
        "model_version_policy": policy,
        "version_labels": labels,
    }


def _batching(batching: served.BatchingConfig) -> Mapping[str, Any]:
    # Most of these are wrapped, so that TF Serving can tell an unset one from zero.
    wrapped = (
        "max_batch_size",
        "batch_timeout_micros",
        "max_enqueued_batches",
        "num_batch_threads",
    )
    return {
        **{name: {"value": getattr(batching, name)} for name in wrapped},
        "allowed_batch_sizes": list(batching.allowed_batch_sizes),
        "pad_variable_length_inputs": batching.pad_variable_length_inputs,
    }
