"""DeployConfig: what is served in production and where; everything rendered comes from it."""

import re
from typing import Annotated, Self

import pydantic

from models.base_config import StrictConfig

# The release of TF Serving's image; its minor version is that of the locked TensorFlow.
TF_SERVING_VERSION = "2.21.0"

# Below 1024 a process without capabilities may not listen everywhere.
Port = Annotated[int, pydantic.Field(ge=1_024, le=65_535)]
PositiveInt = Annotated[int, pydantic.Field(gt=0)]
Percent = Annotated[int, pydantic.Field(ge=0, le=100)]

# Shorter than a DNS label, because KServe adds to it.
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_METRICS_PATH = re.compile(r"(/[A-Za-z0-9_.-]+)+")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:-]*?(:(?P<tag>[\w.-]+)|@sha256:[0-9a-f]{64})")
_RESOURCE = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9_.-]+")
_LABEL_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def _check_label(**named: str) -> None:
    for key, value in named.items():
        if not _DNS_LABEL.fullmatch(value):
            raise ValueError(
                f"{key} must be a DNS label: 1 to 63 lower-case letters, digits or -, neither "
                f"first nor last a -. Received: {key} = {value!r}."
            )


class ServedModel(StrictConfig):
    """One model: its name in requests, its folder of versions, and which of them are served."""

    name: str
    # Below the volume of models; by default where `kerasline run` publishes a recipe's.
    path: str | None = None
    latest: PositiveInt = 1  # The newest so many versions, followed as they appear.
    versions: tuple[PositiveInt, ...] = ()  # These and no others, instead of the newest.
    labels: dict[str, PositiveInt] = {}  # Names for versions, such as stable and canary.

    @property
    def folder(self) -> str:
        """The folder of numbered versions, relative to the volume."""
        return self.path if self.path is not None else f"{self.name}/published"

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> Self:
        if not _MODEL_NAME.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 63 letters, digits, _ . or -, and start with a letter or digit, "
                f"because it is part of an address. Received: name = {self.name!r}."
            )
        if not _PATH.fullmatch(self.folder):
            raise ValueError(
                "path must be a folder below the volume of models, such as digits/published, "
                f"without .. and without a slash at either end. Received: path = {self.folder!r}."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_versions(self) -> Self:
        if self.versions and self.latest != 1:
            raise ValueError(
                "versions and latest are two ways to choose. Received: "
                f"versions = {list(self.versions)}, latest = {self.latest}. Remove one."
            )
        if len(set(self.versions)) != len(self.versions):
            raise ValueError(
                "versions must name each version once. "
                f"Received: versions = {list(self.versions)}. Remove the double."
            )
        missing = {text: n for text, n in self.labels.items() if n not in self.versions}
        if missing:
            raise ValueError(
                "A label must name a version that is listed in versions, because any other may be "
                f"gone when the server starts. Received: labels = {missing}, "
                f"versions = {list(self.versions)}. Add it to versions."
            )
        for label in self.labels:
            if not _MODEL_NAME.fullmatch(label):
                raise ValueError(
                    "A label must be 1 to 63 letters, digits, _ . or -, because it is part of an "
                    f"address. Received: labels = {{{label!r}: ...}}."
                )
        return self


class BatchingConfig(StrictConfig):
    """How requests are joined, under TF Serving's own names; holds for every model."""

    is_enabled: bool = True
    max_batch_size: PositiveInt = 128  # Rows in one run of the graph.
    batch_timeout_micros: Annotated[int, pydantic.Field(ge=0)] = 1_000
    max_enqueued_batches: PositiveInt = 1_000
    num_batch_threads: PositiveInt = 2
    allowed_batch_sizes: tuple[PositiveInt, ...] = ()  # Sizes to pad up to; empty: any.
    pad_variable_length_inputs: bool = False

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> Self:
        sizes = list(self.allowed_batch_sizes)
        if sizes and (sizes != sorted(set(sizes)) or sizes[-1] != self.max_batch_size):
            raise ValueError(
                "allowed_batch_sizes must increase and end with max_batch_size. Received: "
                f"allowed_batch_sizes = {sizes}, max_batch_size = {self.max_batch_size}."
            )
        return self


class MonitoringConfig(StrictConfig):
    """The page that Prometheus reads, on the REST port."""

    is_enabled: bool = True
    path: str = "/monitoring/prometheus/metrics"

    @pydantic.model_validator(mode="after")
    def _check_path(self) -> Self:
        if not _METRICS_PATH.fullmatch(self.path):
            raise ValueError(
                "path must start with a slash and hold letters, digits, _ . or - between slashes. "
                f"Received: path = {self.path!r}."
            )
        return self


class TlsConfig(StrictConfig):
    """TLS for gRPC; the certificate and its key stay out of what is rendered."""

    secret: str = "kerasline-tls"  # Kubernetes Secret with the key ssl.config.

    @pydantic.model_validator(mode="after")
    def _check_secret(self) -> Self:
        _check_label(secret=self.secret)
        return self


class ResourcesConfig(StrictConfig):
    """What one server is promised, and what it may not exceed."""

    cpu_request: Annotated[float, pydantic.Field(gt=0)] = 1.0  # Cores.
    cpu_limit: Annotated[float, pydantic.Field(gt=0)] = 2.0
    memory_request_mib: PositiveInt = 1_024
    memory_limit_mib: PositiveInt = 2_048

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
    count: PositiveInt = 1
    taint_key: str = "nvidia.com/gpu"  # Keeps other pods off the nodes.
    node_labels: dict[str, str] = {}  # Which nodes, such as the cloud's name of the GPU.

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> Self:
        if not _RESOURCE.fullmatch(self.resource):
            raise ValueError(
                "resource must be a device plugin's name, such as nvidia.com/gpu. "
                f"Received: resource = {self.resource!r}."
            )
        keys = (self.taint_key, *self.node_labels)
        wrong = [key for key in keys if not _LABEL_KEY.fullmatch(key)]
        wrong += [text for text in self.node_labels.values() if not _LABEL_VALUE.fullmatch(text)]
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
    min_replicas: PositiveInt = 2
    max_replicas: PositiveInt = 6

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        if self.namespace is not None:
            _check_label(namespace=self.namespace)
        _check_label(claim=self.claim)
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
            _check_label(client_namespaces=namespace)
        return self


class KserveConfig(StrictConfig):
    """A KServe InferenceService."""

    canary_percent: Percent = 100  # Share of the requests that the newest revision gets.
    target_concurrency: PositiveInt = 64  # Requests in one server at which another is added.


class DeployConfig(StrictConfig):
    """What is served, how, and where."""

    name: str = "kerasline"  # Names every object.
    image: str | None = None  # None: TF Serving's own, of the locked TensorFlow's version.
    models: Annotated[tuple[ServedModel, ...], pydantic.Field(min_length=1)]
    grpc_port: Port = 8500
    rest_port: Port = 8501
    rest_timeout_ms: PositiveInt = 30_000
    poll_secs: PositiveInt = 1  # How often new versions are looked for.
    startup_secs: Annotated[int, pydantic.Field(ge=10, le=3_600)] = 300  # To load and warm up.
    batching: BatchingConfig = BatchingConfig()
    monitoring: MonitoringConfig = MonitoringConfig()
    tls: TlsConfig | None = None  # None: no TLS.
    resources: ResourcesConfig = ResourcesConfig()
    accelerator: AcceleratorConfig | None = None  # None: CPUs only.
    docker: DockerConfig = DockerConfig()
    cluster: ClusterConfig = ClusterConfig()
    kubernetes: KubernetesConfig = KubernetesConfig()
    kserve: KserveConfig = KserveConfig()

    @property
    def server_image(self) -> str:
        """The image with its tag; TF Serving's for GPUs if there is an accelerator."""
        if self.image is not None:
            return self.image
        return f"tensorflow/serving:{TF_SERVING_VERSION}{'-gpu' if self.accelerator else ''}"

    @pydantic.model_validator(mode="after")
    def _check_name_and_image(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 40 lower-case letters, digits or -, start with a letter and not "
                "end with -, because it becomes part of DNS names. "
                f"Received: name = {self.name!r}."
            )
        found = _IMAGE.fullmatch(self.server_image)
        if not found or found["tag"] == "latest":
            raise ValueError(
                "image must have a fixed tag or digest, so that every replica runs the same. "
                f"Received: image = {self.image!r}. "
                f"Write such as tensorflow/serving:{TF_SERVING_VERSION}."
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_models_and_ports(self) -> Self:
        names = [model.name for model in self.models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"A model's name must be used once. Received: {twice} more than once.")
        if self.grpc_port == self.rest_port:
            raise ValueError(
                "grpc_port and rest_port must differ. Received: "
                f"grpc_port = {self.grpc_port}, rest_port = {self.rest_port}. Change one."
            )
        return self
