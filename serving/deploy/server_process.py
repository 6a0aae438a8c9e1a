"""How the server is started, and how to ask it whether it can answer."""

from serving.deploy import config as deploy_config
from serving.deploy import server_files

PROGRAM = "/usr/bin/tensorflow_model_server"
# Neither root nor a user that the image knows; published models are readable to everyone.
USER_ID = 1000


def flags(config: deploy_config.DeployConfig) -> list[str]:
    """Returns the command line after the program's name."""
    files = server_files.CONFIG_DIR
    words = [
        f"--port={config.grpc_port}",
        f"--rest_api_port={config.rest_port}",
        f"--rest_api_timeout_in_ms={config.rest_timeout_ms}",
        f"--model_config_file={files}/{server_files.MODELS}",
        f"--file_system_poll_wait_seconds={config.poll_secs}",
    ]
    if config.batching.is_enabled:
        words += [
            "--enable_batching=true",
            f"--batching_parameters_file={files}/{server_files.BATCHING}",
        ]
    if config.monitoring.is_enabled:
        words.append(f"--monitoring_config_file={files}/{server_files.MONITORING}")
    if config.tls is not None:
        words.append(f"--ssl_config_file={server_files.TLS_DIR}/{server_files.SSL}")
    return words


def readiness_command(config: deploy_config.DeployConfig) -> list[str]:
    """Returns a command that succeeds if every model has an available version.

    TF Serving's status route answers 200 for a model that is still loading or has failed, so that a
    probe must read the state; and the image holds no curl, but bash, which opens connections.
    """
    names = " ".join(model.name for model in config.models)
    script = (
        f"for model in {names}; do\n"
        f"  exec 3<>/dev/tcp/127.0.0.1/{config.rest_port} || exit 1\n"
        "  printf 'GET /v1/models/%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
        '\\r\\n\' "$model" >&3\n'
        '  grep -q \'"state": "AVAILABLE"\' <&3 || exit 1\n'
        "done\n"
    )
    return ["bash", "-c", script]
