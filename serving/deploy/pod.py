"""The parts of a pod that a Deployment and an InferenceService have in common."""

import hashlib
import json
from typing import Any

from serving.deploy import config as deploy_config
from serving.deploy import server_files, server_process

Object = dict[str, Any]
_STATUS_TIMEOUT_SECS = 3


def labels(config: deploy_config.DeployConfig) -> Object:
    """The labels by which everything is found."""
    return {
        "app.kubernetes.io/name": config.name,
        "app.kubernetes.io/component": "model-server",
        "app.kubernetes.io/managed-by": "kerasline",
    }


def metadata(config: deploy_config.DeployConfig, name: str) -> Object:
    """The metadata of an object in the config's namespace."""
    namespace = {"namespace": config.cluster.namespace} if config.cluster.namespace else {}
    return {"name": name, **namespace, "labels": labels(config)}


def config_map(config: deploy_config.DeployConfig) -> Object:
    """The server's files, under a name that changes with them.

    A server reads its files once. With a new name a change reaches every server by an ordinary
    rollout, and an undone rollout finds the old files again.
    """
    files = server_files.render(config)
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(config, f"{config.name}-config-{digest[:10]}"),
        "immutable": True,
        "data": files,
    }


def container(config: deploy_config.DeployConfig, name: str) -> Object:
    """The server's container, without ports and probes."""
    return {
        "name": name,
        "image": config.server_image,
        "command": [server_process.PROGRAM],
        "args": server_process.flags(config),
        "resources": _resources(config),
        "securityContext": _security_context(),
        "volumeMounts": _volume_mounts(config),
    }


def volumes(config: deploy_config.DeployConfig) -> list[Object]:
    """What the container mounts."""
    claim = {"claimName": config.cluster.claim, "readOnly": True}
    found = [
        {"name": "models", "persistentVolumeClaim": claim},
        {"name": "config", "configMap": {"name": config_map(config)["metadata"]["name"]}},
        # The only place that may be written to.
        {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
    ]
    if config.tls is not None:
        found.append({"name": "tls", "secret": {"secretName": config.tls.secret}})
    return found


def placement(config: deploy_config.DeployConfig) -> Object:
    """Keys of a pod that keep it on nodes with its accelerator; without one, none.

    Such nodes are tainted, so that no pod without this toleration takes their place.
    """
    accelerator = config.accelerator
    if accelerator is None:
        return {}
    toleration = {"key": accelerator.taint_key, "operator": "Exists", "effect": "NoSchedule"}
    selector = {"nodeSelector": dict(accelerator.node_labels)} if accelerator.node_labels else {}
    return {"tolerations": [toleration], **selector}


def status_probe(config: deploy_config.DeployConfig) -> Object:
    """A liveness probe: does the server answer at all? It does not look at the model's state."""
    path = f"/v1/models/{config.models[0].name}"
    return {
        "httpGet": {"path": path, "port": config.rest_port},
        "periodSeconds": 10,
        "timeoutSeconds": _STATUS_TIMEOUT_SECS,
        "failureThreshold": 6,
    }


def _resources(config: deploy_config.DeployConfig) -> Object:
    asked = config.resources
    accelerator = config.accelerator
    # An extended resource is whole devices, which no other pod gets meanwhile.
    devices = {accelerator.resource: str(accelerator.count)} if accelerator else {}
    return {
        "requests": {
            "cpu": _cores(asked.cpu_request),
            "memory": f"{asked.memory_request_mib}Mi",
        },
        "limits": {
            "cpu": _cores(asked.cpu_limit),
            "memory": f"{asked.memory_limit_mib}Mi",
            **devices,
        },
    }


def _cores(number: float) -> str:
    return f"{round(number * 1_000)}m"


def _security_context() -> Object:
    """What Kubernetes' Pod Security Standard `restricted` asks for, and a read-only root."""
    return {
        "runAsNonRoot": True,
        "runAsUser": server_process.USER_ID,
        "runAsGroup": server_process.USER_ID,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _volume_mounts(config: deploy_config.DeployConfig) -> list[Object]:
    mounts: list[Object] = [
        {"name": "models", "mountPath": server_files.MODELS_DIR, "readOnly": True},
        {"name": "config", "mountPath": server_files.CONFIG_DIR, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    if config.tls is not None:
        mounts.append({"name": "tls", "mountPath": server_files.TLS_DIR, "readOnly": True})
    return mounts
