"""A Docker Compose file: the server on one machine."""

from typing import Any

from serving.deploy import config as deploy_config
from serving.deploy import server_files, server_process

_NVIDIA = "nvidia.com/gpu"


def render(config: deploy_config.DeployConfig) -> dict[str, dict[str, Any]]:
    """Returns file name -> document.

    Raises:
        ValueError: If the config asks for an accelerator that Compose has no name for.
    """
    document: dict[str, Any] = {
        "name": config.name,
        "services": {"model-server": _service(config)},
    }
    if config.tls is not None:
        needed = "${KERASLINE_SSL_CONFIG:?name the ssl.config file}"
        document["secrets"] = {"ssl-config": {"file": needed}}
    return {"compose.yaml": document}


def _service(config: deploy_config.DeployConfig) -> dict[str, Any]:
    service: dict[str, Any] = {
        "image": config.server_image,
        "entrypoint": [server_process.PROGRAM],
        "command": server_process.flags(config),
        "ports": [
            f"{config.docker.publish_address}:{port}:{port}"
            for port in (config.grpc_port, config.rest_port)
        ],
        "volumes": [
            # Relative to this file; by default `runs` beside the rendered folder.
            _read_only("${KERASLINE_ROOT:-../runs}", server_files.MODELS_DIR),
            _read_only("./config", server_files.CONFIG_DIR),
        ],
        "user": f"{server_process.USER_ID}:{server_process.USER_ID}",
        "read_only": True,
        "tmpfs": ["/tmp:size=256m"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "deploy": {"resources": _resources(config)},
        "healthcheck": _health_check(config),
        "restart": "unless-stopped",
    }
    if config.tls is not None:
        target = f"{server_files.TLS_DIR}/{server_files.SSL}"
        service["secrets"] = [{"source": "ssl-config", "target": target}]
    return service


def _read_only(source: str, target: str) -> dict[str, Any]:
    # A missing folder must be an error, where Docker would make an empty one that root owns.
    options = {"create_host_path": False}
    return {"type": "bind", "source": source, "target": target, "read_only": True, "bind": options}


def _resources(config: deploy_config.DeployConfig) -> dict[str, Any]:
    asked, accelerator = config.resources, config.accelerator
    found: dict[str, Any] = {
        "limits": {"cpus": f"{asked.cpu_limit:g}", "memory": f"{asked.memory_limit_mib}m"},
        "reservations": {
            "cpus": f"{asked.cpu_request:g}",
            "memory": f"{asked.memory_request_mib}m",
        },
    }
    if accelerator is None:
        return found
    if accelerator.resource != _NVIDIA or accelerator.node_labels:
        raise ValueError(
            f"The target docker knows {_NVIDIA} only, and no nodes. Received: "
            f"accelerator.resource = {accelerator.resource!r}, "
            f"accelerator.node_labels = {accelerator.node_labels}. Leave both out."
        )
    device = {"driver": "nvidia", "count": accelerator.count, "capabilities": ["gpu"]}
    found["reservations"]["devices"] = [device]
    return found


def _health_check(config: deploy_config.DeployConfig) -> dict[str, Any]:
    # Compose takes a single $ for one of its own variables.
    command = [word.replace("$", "$$") for word in server_process.readiness_command(config)]
    return {
        "test": ["CMD", *command],
        "interval": "5s",
        "timeout": "3s",
        "retries": 2,
        "start_period": f"{config.startup_secs}s",
    }
