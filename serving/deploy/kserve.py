"""A KServe InferenceService with a custom predictor: the same container as the Deployment's."""

from serving.deploy import config as deploy_config
from serving.deploy import pod


def render(config: deploy_config.DeployConfig) -> dict[str, pod.Object]:
    """Returns file name -> object.

    Raises:
        ValueError: If the config asks for what an InferenceService cannot do.
    """
    if len(config.models) > 1:
        raise ValueError(
            "The target kserve needs exactly one model, since an InferenceService is one. "
            f"Received: models = {[model.name for model in config.models]}. "
            "Render each with a config of its own."
        )
    if config.tls is not None:
        raise ValueError(
            "The target kserve cannot use tls, since KServe's gateway ends TLS. "
            f"Received: tls.secret = {config.tls.secret!r}. Remove tls."
        )
    return {
        "configmap.yaml": pod.config_map(config),
        "inferenceservice.yaml": _inference_service(config),
    }


def _inference_service(config: deploy_config.DeployConfig) -> pod.Object:
    metadata = pod.metadata(config, config.name)
    metadata["annotations"] = {
        # Only Knative keeps the revision before, which a canary needs. KServe 0.16 and later call
        # this mode Knative and take the older name too.
        "serving.kserve.io/deploymentMode": "Serverless",
        # Knative knows no startup probe: this is how long a revision may take to be ready.
        "serving.knative.dev/progress-deadline": f"{config.startup_secs}s",
    }
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": metadata,
        "spec": {"predictor": _predictor(config)},
    }


def _predictor(config: deploy_config.DeployConfig) -> pod.Object:
    return {
        "canaryTrafficPercent": config.kserve.canary_percent,
        "minReplicas": config.cluster.min_replicas,
        "maxReplicas": config.cluster.max_replicas,
        "scaleMetric": "concurrency",
        "scaleTarget": config.kserve.target_concurrency,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **pod.placement(config),
        "containers": [_container(config)],
        "volumes": pod.volumes(config),
    }


def _container(config: deploy_config.DeployConfig) -> pod.Object:
    # KServe takes the container of this name for the model's server.
    return {
        **pod.container(config, "kserve-container"),
        # Knative routes to one port. REST's: KServe's own protocol is the same.
        "ports": [{"name": "http1", "containerPort": config.rest_port, "protocol": "TCP"}],
        # Knative repeats this probe from its proxy, which can send requests but run no commands.
        # Unlike the status route, this one answers 404 while no version is available.
        "readinessProbe": {
            "httpGet": {
                "path": f"/v1/models/{config.models[0].name}/metadata",
                "port": config.rest_port,
            },
            "periodSeconds": 5,
            "timeoutSeconds": 3,
        },
        "livenessProbe": {**pod.status_probe(config), "initialDelaySeconds": 60},
    }
