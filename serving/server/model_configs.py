"""Which models are served, and how: read from TF Serving's own messages and files."""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from tensorflow_serving.config import model_server_config_pb2

from serving.server import batching, text_protos


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """Which versions on disk to serve: the `latest` newest, unless `specific` names them."""

    latest: int = 1
    specific: frozenset[int] | None = None
    serve_all: bool = False

    def choose(self, versions: Mapping[int, pathlib.Path]) -> dict[int, pathlib.Path]:
        """Returns the chosen ones of the versions on disk.

        >>> sorted(VersionPolicy(latest=2).choose({1: "a", 2: "b", 10: "c"}))
        [2, 10]
        """
        if self.serve_all:
            return dict(versions)
        if self.specific is not None:
            return {number: path for number, path in versions.items() if number in self.specific}
        newest = sorted(versions, reverse=True)[: self.latest]
        return {number: versions[number] for number in newest}


@dataclasses.dataclass(frozen=True)
class LoggingConfig:
    """Where a share of the requests is written, as TFRecord files of PredictionLog."""

    filename_prefix: str
    sampling_rate: float  # In [0, 1].


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """One served model."""

    name: str
    base_path: pathlib.Path
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    logging: LoggingConfig | None = None


def read_config_file(path: pathlib.Path) -> list[ModelConfig]:
    """Reads a ModelServerConfig text-proto file.

    Raises:
        TextProtoError: If it is not one.
        ValueError: If it says something that cannot be served.
    """
    return from_message(text_protos.parse_file(path, model_server_config_pb2.ModelServerConfig()))


def from_message(message: model_server_config_pb2.ModelServerConfig) -> list[ModelConfig]:
    """Reads a ModelServerConfig message.

    Raises:
        ValueError: If it has no list of models, a name twice, a relative base path, another
            platform
            than TensorFlow, or a policy that cannot be.
    """
    if message.WhichOneof("config") != "model_config_list":
        raise ValueError("A ModelServerConfig must have a model_config_list.")
    configs = [_model_config(config) for config in message.model_config_list.config]
    names = [config.name for config in configs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"A model name must be used once. Received: {twice} more than once.")
    return configs


def read_batching_file(path: pathlib.Path | None) -> batching.BatchingOptions:
    """Reads a BatchingParameters text-proto file; without one, TF Serving's defaults hold.

    `batch_timeout_micros` is accepted and has no effect, because a free worker never waits.

    Raises:
        TextProtoError: If the file is not such a message.
        ValueError: If a value is out of range or asks for splitting, which is not supported.
    """
    parameters = text_protos.new_message("BatchingParameters")
    if path is not None:
        text_protos.parse_file(path, parameters)
    if parameters.enable_large_batch_splitting.value:
        raise ValueError(
            "enable_large_batch_splitting is not supported: send at most max_batch_size rows, "
            "or raise max_batch_size."
        )
    defaults = batching.BatchingOptions()
    values: dict[str, Any] = {
        name: getattr(parameters, name).value if parameters.HasField(name) else default
        for name, default in (
            ("max_batch_size", defaults.max_batch_size),
            ("max_enqueued_batches", defaults.max_enqueued_batches),
            ("num_batch_threads", defaults.num_batch_threads),
        )
    }
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"A batching parameter must be positive. Received: {name}={value}.")
    sizes = tuple(parameters.allowed_batch_sizes)
    if sizes and (list(sizes) != sorted(set(sizes)) or sizes[-1] != values["max_batch_size"]):
        raise ValueError(
            "allowed_batch_sizes must increase and end with max_batch_size. "
            f"Received: allowed_batch_sizes={list(sizes)}, "
            f"max_batch_size={values['max_batch_size']}."
        )
    return dataclasses.replace(
        defaults,
        allowed_batch_sizes=sizes,
        pad_variable_length_inputs=parameters.pad_variable_length_inputs,
        **values,
    )


def _model_config(config: model_server_config_pb2.ModelConfig) -> ModelConfig:
    if not config.name:
        raise ValueError("A model must have a name. Received: name=''.")
    if config.model_platform not in ("", "tensorflow"):
        raise ValueError(
            f"Model {config.name!r} must have model_platform 'tensorflow'. "
            f"Received: model_platform={config.model_platform!r}."
        )
    base_path = pathlib.Path(config.base_path)
    if not base_path.is_absolute():
        raise ValueError(
            f"Expected model {config.name} to have an absolute path or URI; "
            f"got base_path()={config.base_path}"
        )
    return ModelConfig(
        name=config.name,
        base_path=base_path,
        policy=_policy(config),
        labels=dict(config.version_labels),
        logging=_logging(config),
    )


def _policy(config: model_server_config_pb2.ModelConfig) -> VersionPolicy:
    policy = config.model_version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        return VersionPolicy(serve_all=True)
    if choice == "specific":
        if not policy.specific.versions:
            raise ValueError(
                f"The specific policy of model {config.name!r} must name versions. Received: none."
            )
        return VersionPolicy(specific=frozenset(policy.specific.versions))
    # An unset number reads as 0, which TF Serving takes as 1.
    return VersionPolicy(latest=policy.latest.num_versions or 1)


def _logging(config: model_server_config_pb2.ModelConfig) -> LoggingConfig | None:
    if not config.HasField("logging_config"):
        return None
    collector = config.logging_config.log_collector_config
    rate = config.logging_config.sampling_config.sampling_rate
    if not collector.filename_prefix or not 0 <= rate <= 1:
        raise ValueError(
            f"The logging of model {config.name!r} must have a filename_prefix and a sampling_rate "
            f"in [0, 1]. Received: filename_prefix={collector.filename_prefix!r}, "
            f"sampling_rate={rate}."
        )
    return LoggingConfig(collector.filename_prefix, rate)
