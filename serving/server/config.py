"""ServerConfig: the flags of `kerasline serve`, under TF Serving's own names."""

from typing import Annotated, Literal

import pydantic

from models.base_config import StrictConfig

Port = Annotated[int, pydantic.Field(ge=0, le=65_535)]
NonNegative = Annotated[float, pydantic.Field(ge=0.0)]
NonNegativeInt = Annotated[int, pydantic.Field(ge=0)]
PositiveInt = Annotated[int, pydantic.Field(gt=0)]


class ServerConfig(StrictConfig):
    """What to serve, where and how; a port 0 picks a free one."""

    port: Port = 8500
    rest_api_port: Port = 8501
    host: str = "127.0.0.1"
    model_name: str = "default"
    model_base_path: str | None = None
    model_config_file: str | None = None
    model_config_file_poll_wait_seconds: NonNegative = 0.0
    file_system_poll_wait_seconds: NonNegative = 1.0
    # None: only for models that Kerasline exported, whose rows are known to be independent.
    enable_batching: bool | None = None
    batching_parameters_file: str | None = None
    monitoring_config_file: str | None = None
    ssl_config_file: str | None = None
    rest_api_timeout_in_ms: PositiveInt = 30_000
    rest_api_enable_cors_support: bool = False
    allow_version_labels_for_unavailable_models: bool = False
    enable_grpc_healthcheck_service: bool = False
    enable_serialization_as_tensor_content: bool = False
    enable_model_warmup: bool = True
    num_load_threads: PositiveInt = 1
    grpc_channel_arguments: str = ""
    # 0: chosen for each model.
    tensorflow_session_parallelism: NonNegativeInt = 0
    tensorflow_intra_op_parallelism: NonNegativeInt = 0
    tensorflow_inter_op_parallelism: NonNegativeInt = 0
    # Beyond TF Serving's.
    engine: Literal["auto", "session", "signature"] = "auto"
    check_tf1_shapes: bool = False
    grpc_frontend: Literal["grpcio", "http2"] = "grpcio"
    rest_api_max_body_bytes: PositiveInt = 256 * 1024 * 1024
    drain_seconds: NonNegative = 30.0

    @pydantic.model_validator(mode="after")
    def _check_combinations(self) -> "ServerConfig":
        if (self.model_base_path is None) == (self.model_config_file is None):
            raise ValueError(
                "Exactly one of model_base_path and model_config_file must be set. Received: "
                f"model_base_path={self.model_base_path!r}, "
                f"model_config_file={self.model_config_file!r}."
            )
        if self.port == self.rest_api_port != 0:
            raise ValueError(
                "rest_api_port must be different from port. "
                f"Received: port={self.port}, rest_api_port={self.rest_api_port}."
            )
        if self.batching_parameters_file is not None and self.enable_batching is not True:
            raise ValueError(
                "batching_parameters_file has no effect without enable_batching. Received: "
                f"batching_parameters_file={self.batching_parameters_file!r}. "
                "Add --enable_batching."
            )
        if self.grpc_frontend == "http2" and self.grpc_channel_arguments:
            raise ValueError(
                "grpc_channel_arguments are for grpcio. Received: grpc_frontend='http2', "
                f"grpc_channel_arguments={self.grpc_channel_arguments!r}. "
                "Leave out one of them."
            )
        return self
