"""Where it is served: what a server may use, and the machine or cluster that it runs on."""

from typing import Annotated, Self

import pydantic

from models.base_config import StrictConfig
from serving.deploy import names


class ResourcesConfig(StrictConfig):
    """What one server is promised, and what it may not exceed."""

    cpu_request: Annotated[float, pydantic.Field(gt=0)] = 1.0  # Cores.
    cpu_limit: Annotated[float, pydantic.Field(gt=0)] = 2.0
    memory_request_mib: names.PositiveInt = 1_024
    memory_limit_mib: names.PositiveInt = 2_048

    @pydantic.model_validator(mode="after")
    def _check_order(self) -> Self:
        for kind, asked, limit in (
            ("cpu_", self.cpu_request, self.cpu_limit),
            ("memory_", self.memory_request_mib, self.memory_limit_mib),
        ):
            if asked > limit:
                raise ValueError(
                    f"A request must be at most its limit. Received: {kind}request = {asked:g}, "
                    f"{kind}limit = {limit:g}. Raise the limit."
                )
        return self


class AcceleratorConfig(StrictConfig):
    """Whole devices for each server, on nodes that are kept for such pods."""

    resource: str = "nvidia.com/gpu"  # The device plugin's name for it.
    count: names.PositiveInt = 1
    taint_key: str = "nvidia.com/gpu"  # Keeps other pods off the nodes.
    node_labels: dict[str, str] = {}  # Which nodes, such as the cloud's name of the GPU.

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> Self:
        if not names.RESOURCE.fullmatch(self.resource):
            raise ValueError(
                "resource must be a device plugin's name, such as nvidia.com/gpu. "
                f"Received: resource = {self.resource!r}."
            )
        keys = (self.taint_key, *self.node_labels)
        wrong = [key for key in keys if not names.LABEL_KEY.fullmatch(key)]
        wrong += [
            text for text in self.node_labels.values() if not names.LABEL_VALUE.fullmatch(text)
        ]
        if wrong:
            raise ValueError(
                "taint_key and node_labels must be Kubernetes labels, such as "
                f"nvidia.com/gpu.product = 'A100'. Received: {wrong[0]!r}."
            )
        return self


class DockerConfig(StrictConfig):
    """Docker Compose on one machine."""

    publish_address: str = "127.0.0.1"  # 0.0.0.0 for every network of the machine.

    @pydantic.model_validator(mode="after")
    def _check_address(self) -> Self:
        parts = self.publish_address.split(".")
        if len(parts) != 4 or not all(part.isdecimal() and int(part) < 256 for part in parts):
            raise ValueError(
                "publish_address must be an IPv4 address, such as 127.0.0.1. "
                f"Received: publish_address = {self.publish_address!r}."
            )
        return self


class ClusterConfig(StrictConfig):
    """The cluster, for Kubernetes and KServe alike."""

    namespace: str | None = None  # None: the one that kubectl uses.
    claim: str = "kerasline-models"  # PersistentVolumeClaim that holds the models.
    min_replicas: names.PositiveInt = 2
    max_replicas: names.PositiveInt = 6

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        if self.namespace is not None:
            names.check_label(namespace=self.namespace)
        names.check_label(claim=self.claim)
        if self.min_replicas > self.max_replicas:
            raise ValueError(
                "min_replicas must be at most max_replicas. Received: min_replicas = "
                f"{self.min_replicas}, max_replicas = {self.max_replicas}. Raise max_replicas."
            )
        return self


class KubernetesConfig(StrictConfig):
    """A plain Deployment and what belongs to it."""

    target_cpu_percent: Annotated[int, pydantic.Field(ge=1, le=100)] = 70  # Of cpu_request.
    # Namespaces whose pods may call, besides the server's own; such as Prometheus'.
    client_namespaces: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _check_namespaces(self) -> Self:
        for namespace in self.client_namespaces:
            names.check_label(client_namespaces=namespace)
        return self


class KserveConfig(StrictConfig):
    """A KServe InferenceService."""

    canary_percent: names.Percent = 100  # Share of the requests that the newest revision gets.
    target_concurrency: names.PositiveInt = 64  # Requests in one server at which another is added.
