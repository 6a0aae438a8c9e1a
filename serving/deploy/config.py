"""DeployConfig: what is served in production and where; everything rendered comes from it."""

from typing import Annotated, Self

import pydantic

from models.base_config import StrictConfig
from serving.deploy import names, places, served

# The release of TF Serving's image; its minor version is that of the locked TensorFlow.
TF_SERVING_VERSION = "2.21.0"


class DeployConfig(StrictConfig):
    """What is served, how, and where."""

    name: str = "kerasline"  # Names every object.
    image: str | None = None  # None: TF Serving's own, of the locked TensorFlow's version.
    models: Annotated[tuple[served.ServedModel, ...], pydantic.Field(min_length=1)]
    grpc_port: names.Port = 8500
    rest_port: names.Port = 8501
    rest_timeout_ms: names.PositiveInt = 30_000
    poll_secs: names.PositiveInt = 1  # How often new versions are looked for.
    startup_secs: Annotated[int, pydantic.Field(ge=10, le=3_600)] = 300  # To load and warm up.
    batching: served.BatchingConfig = served.BatchingConfig()
    monitoring: served.MonitoringConfig = served.MonitoringConfig()
    tls: served.TlsConfig | None = None  # None: no TLS.
    resources: places.ResourcesConfig = places.ResourcesConfig()
    accelerator: places.AcceleratorConfig | None = None  # None: CPUs only.
    docker: places.DockerConfig = places.DockerConfig()
    cluster: places.ClusterConfig = places.ClusterConfig()
    kubernetes: places.KubernetesConfig = places.KubernetesConfig()
    kserve: places.KserveConfig = places.KserveConfig()

    @property
    def server_image(self) -> str:
        """The image with its tag; TF Serving's for GPUs if there is an accelerator."""
        if self.image is not None:
            return self.image
        return f"tensorflow/serving:{TF_SERVING_VERSION}{'-gpu' if self.accelerator else ''}"

    @pydantic.model_validator(mode="after")
    def _check_name_and_image(self) -> Self:
        if not names.OBJECT.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 40 lower-case letters, digits or -, start with a letter and not "
                "end with -, because it becomes part of DNS names. "
                f"Received: name = {self.name!r}."
            )
        found = names.IMAGE.fullmatch(self.server_image)
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
