"""What is served: the models, and how a server answers for them."""

from typing import Annotated, Self

import pydantic

from models.base_config import StrictConfig
from serving.deploy import names


class ServedModel(StrictConfig):
    """One model: its name in requests, its folder of versions, and which of them are served."""

    name: str
    # Below the volume of models; by default where `kerasline run` publishes a recipe's.
    path: str | None = None
    latest: names.PositiveInt = 1  # The newest so many versions, followed as they appear.
    versions: tuple[names.PositiveInt, ...] = ()  # These and no others, instead of the newest.
    labels: dict[str, names.PositiveInt] = {}  # Names for versions, such as stable and canary.

    @property
    def folder(self) -> str:
        """The folder of numbered versions, relative to the volume."""
        return self.path if self.path is not None else f"{self.name}/published"

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> Self:
        if not names.MODEL.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 63 letters, digits, _ . or -, and start with a letter or digit, "
                f"because it is part of an address. Received: name = {self.name!r}."
            )
        if not names.PATH.fullmatch(self.folder):
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
            if not names.MODEL.fullmatch(label):
                raise ValueError(
                    "A label must be 1 to 63 letters, digits, _ . or -, because it is part of an "
                    f"address. Received: labels = {{{label!r}: ...}}."
                )
        return self


class BatchingConfig(StrictConfig):
    """How requests are joined, under TF Serving's own names; holds for every model."""

    is_enabled: bool = True
    max_batch_size: names.PositiveInt = 128  # Rows in one run of the graph.
    batch_timeout_micros: Annotated[int, pydantic.Field(ge=0)] = 1_000
    max_enqueued_batches: names.PositiveInt = 1_000
    num_batch_threads: names.PositiveInt = 2
    allowed_batch_sizes: tuple[names.PositiveInt, ...] = ()  # Sizes to pad up to; empty: any.
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
        if not names.METRICS_PATH.fullmatch(self.path):
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
        names.check_label(secret=self.secret)
        return self
