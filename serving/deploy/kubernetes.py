"""A Deployment, and the objects that expose, scale, protect and isolate it."""

import math
from typing import Any

from serving.deploy import config as deploy_config
from serving.deploy import pod, server_process

_STARTUP_PERIOD_SECS = 2
# A pod that ends gets requests until every node has heard of it; the server itself ends at once.
_DEREGISTRATION_SECS = 10
_GRACE_SECS = 40


def render(config: deploy_config.DeployConfig) -> dict[str, pod.Object]:
    """Returns file name -> object."""
    objects = (
        pod.config_map(config),
        _service_account(config),
        _deployment(config),
        _service(config),
        _autoscaler(config),
        _disruption_budget(config),
        _network_policy(config),
    )
    return {f"{each['kind'].lower()}.yaml": each for each in objects}


def _selector(config: deploy_config.DeployConfig) -> pod.Object:
    # A Deployment's selector can never be changed, so it holds nothing that might.
    return {"matchLabels": {"app.kubernetes.io/name": config.name}}


def _service_account(config: deploy_config.DeployConfig) -> pod.Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": pod.metadata(config, config.name),
        "automountServiceAccountToken": False,
    }


def _deployment(config: deploy_config.DeployConfig) -> pod.Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": pod.metadata(config, config.name),
        # No `replicas`: the autoscaler owns that number, and applying this again must not reset it.
        "spec": {
            "selector": _selector(config),
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "progressDeadlineSeconds": config.startup_secs + 60,
            "template": {"metadata": _pod_metadata(config), "spec": _pod(config)},
        },
    }


def _pod_metadata(config: deploy_config.DeployConfig) -> pod.Object:
    found: pod.Object = {"labels": pod.labels(config)}
    if config.monitoring.is_enabled:
        found["annotations"] = {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(config.rest_port),
            "prometheus.io/path": config.monitoring.path,
        }
    return found


def _pod(config: deploy_config.DeployConfig) -> pod.Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": _selector(config),
    }
    return {
        "serviceAccountName": config.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECS,
        "topologySpreadConstraints": [spread],
        **pod.placement(config),
        "containers": [_container(config)],
        "volumes": pod.volumes(config),
    }


def _container(config: deploy_config.DeployConfig) -> pod.Object:
    # The server opens its ports once every model is loaded and warm.
    num_tries = math.ceil(config.startup_secs / _STARTUP_PERIOD_SECS)
    return {
        **pod.container(config, "model-server"),
        "ports": [
            {"name": "grpc", "containerPort": config.grpc_port},
            {"name": "rest", "containerPort": config.rest_port},
        ],
        "startupProbe": {
            "tcpSocket": {"port": config.rest_port},
            "periodSeconds": _STARTUP_PERIOD_SECS,
            "failureThreshold": num_tries,
        },
        "readinessProbe": {
            "exec": {"command": server_process.readiness_command(config)},
            "periodSeconds": 5,
            "timeoutSeconds": 3,
            "failureThreshold": 2,
        },
        "livenessProbe": pod.status_probe(config),
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_DEREGISTRATION_SECS)]}}},
    }


def _service(config: deploy_config.DeployConfig) -> pod.Object:
    ports: list[dict[str, Any]] = [
        {"name": "grpc", "port": config.grpc_port, "targetPort": "grpc"},
        {"name": "rest", "port": config.rest_port, "targetPort": "rest"},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": pod.metadata(config, config.name),
        "spec": {"selector": _selector(config)["matchLabels"], "ports": ports},
    }


def _autoscaler(config: deploy_config.DeployConfig) -> pod.Object:
    target = {"type": "Utilization", "averageUtilization": config.kubernetes.target_cpu_percent}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": pod.metadata(config, config.name),
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": config.name,
            },
            "minReplicas": config.cluster.min_replicas,
            "maxReplicas": config.cluster.max_replicas,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


def _disruption_budget(config: deploy_config.DeployConfig) -> pod.Object:
    # Not `minAvailable`, which would keep a node with a single server from ever being drained.
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": pod.metadata(config, config.name),
        "spec": {"maxUnavailable": 1, "selector": _selector(config)},
    }


def _network_policy(config: deploy_config.DeployConfig) -> pod.Object:
    """Only neighbours and named namespaces may call; the server itself may call nobody."""
    key = "kubernetes.io/metadata.name"
    others = [
        {"namespaceSelector": {"matchLabels": {key: namespace}}}
        for namespace in config.kubernetes.client_namespaces
    ]
    ports = [
        {"protocol": "TCP", "port": config.grpc_port},
        {"protocol": "TCP", "port": config.rest_port},
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": pod.metadata(config, config.name),
        "spec": {
            "podSelector": _selector(config),
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": {}}, *others], "ports": ports}],
            "egress": [],
        },
    }
