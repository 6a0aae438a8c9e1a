"""Runs the server: joins the parts, listens, drains on a signal."""

import asyncio
import contextlib
import gc
import logging
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterator

from serving.server import (
    backends,
    batching,
    errors,
    grpc_services,
    http_protocol,
    inference,
    loaded_model,
    loading,
    manager,
    metrics,
    model_configs,
    rehearsal,
    rest_routes,
    text_protos,
    tls,
)
from serving.server import config as server_config

_log = logging.getLogger("kerasline.serve")

# A thread that needs the interpreter waits for at most this long; Python's own 5 ms is longer than
# most requests take, and would show in the latency while another version is being loaded.
_SWITCH_INTERVAL_SECS = 0.0005
# New containers between two collections: a request of nested lists makes thousands, none of them in
# a cycle.
_GC_THRESHOLDS = (50_000, 20, 100)
_DEFAULT_METRICS_PATH = "/monitoring/prometheus/metrics"


class ListenError(RuntimeError):
    """An address or a port is taken, or not this machine's."""


class Server:
    """A running server; made, started and stopped on one event loop."""

    def __init__(self, config: server_config.ServerConfig):
        """Reads the config files.

        Raises:
            ValueError: If a file says something that cannot be served.
        """
        self._config = config
        self._read_configs = _config_reader(config)
        self._first_configs = self._read_configs()
        counters = metrics.Metrics()
        self._models = manager.Manager(
            loading.Loader(
                _loader_options(config),
                counters,
                rehearsal.Rehearsal(as_content=config.enable_serialization_as_tensor_content),
            ),
            allow_labels_for_unavailable_versions=(
                config.allow_version_labels_for_unavailable_models
            ),
        )
        self._engine = inference.Inference(
            self._models, counters, as_content=config.enable_serialization_as_tensor_content
        )
        self._rest = rest_routes.RestApi(
            self._engine,
            self._models,
            counters,
            rest_routes.RestOptions(
                timeout_secs=config.rest_api_timeout_in_ms / 1_000,
                max_body_bytes=config.rest_api_max_body_bytes,
                has_cors=config.rest_api_enable_cors_support,
                metrics_path=_metrics_path(config.monitoring_config_file),
            ),
        )
        self._http = http_protocol.HttpServer(
            self._rest.handle,
            http_protocol.Limits(max_body_bytes=config.rest_api_max_body_bytes),
        )
        path = config.ssl_config_file
        self._tls = None if path is None else tls.read_config(pathlib.Path(path))
        self._grpc: grpc_services.GrpcServer | None = None
        self._polling: list[asyncio.Task] = []
        self.grpc_port = 0
        self.rest_port = 0

    async def start(self) -> None:
        """Loads the models and starts to listen.

        Raises:
            ServingError: If a label names a version that is not available.
            ListenError: If an address or a port cannot be had.
        """
        config = self._config
        await self._models.apply(self._first_configs)
        self._grpc = grpc_services.GrpcServer(
            self._engine,
            self._models,
            front_end=config.grpc_frontend,
            has_health=config.enable_grpc_healthcheck_service,
            channel_arguments=parse_channel_arguments(config.grpc_channel_arguments),
        )
        with _listening("gRPC", config.host, port=config.port):
            self.grpc_port = await self._grpc.start(config.host, config.port, self._tls)
        with _listening("REST", config.host, rest_api_port=config.rest_api_port):
            self.rest_port = await self._http.start(config.host, config.rest_api_port)
        if config.file_system_poll_wait_seconds > 0:
            self._poll_every(config.file_system_poll_wait_seconds, self._models.poll)
        if config.model_config_file_poll_wait_seconds > 0:
            self._poll_every(config.model_config_file_poll_wait_seconds, self._reload)

    def available_versions(self) -> dict[str, list[int]]:
        """Returns the numbers of the versions that answer, by model."""
        return {name: self._models.available_numbers(name) for name in self._models.model_names}

    async def stop(self) -> None:
        """Refuses new requests, finishes those that have begun, then frees everything."""
        for task in self._polling:
            task.cancel()
        self._rest.is_draining = True
        seconds = self._config.drain_seconds
        if self._grpc is not None:
            await asyncio.gather(self._grpc.drain(seconds), self._http.drain(seconds))
        await self._models.close()
        await asyncio.to_thread(self._engine.close_logs)

    async def _reload(self) -> None:
        try:
            await self._models.apply(await asyncio.to_thread(self._read_configs))
        except (ValueError, errors.ServingError) as error:
            # What is served goes on as it was.
            _log.error("The model config file was not taken over: %s", error)

    def _poll_every(self, seconds: float, poll: Callable) -> None:
        async def loop() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await poll()
                except Exception:
                    _log.exception("Looking for new versions failed; trying again.")

        self._polling.append(asyncio.create_task(loop()))


async def serve(config: server_config.ServerConfig, on_ready: Callable[[Server], None]) -> None:
    """Serves until SIGTERM or SIGINT, then drains.

    Args:
        config: The flags.
        on_ready: Told once the server listens, with its ports.

    Raises:
        ValueError, ServingError or ListenError: If it cannot start.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL_SECS)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = Server(config)
    try:
        await server.start()
        # TensorFlow's million objects stay; looking through them takes the collector 150 ms.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        on_ready(server)
        await stopped.wait()
    finally:
        await server.stop()


@contextlib.contextmanager
def _listening(what: str, host: str, **port: int) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        ((flag, number),) = port.items()
        raise ListenError(
            f"{what} cannot listen there; the port may be taken. Received: host={host!r}, "
            f"{flag}={number}. Choose another with --{flag}, or 0 for a free one."
        ) from error


def parse_channel_arguments(text: str) -> list[tuple[str, str | int]]:
    """Reads `--grpc_channel_arguments`.

    Raises:
        ValueError: If a part is not `key=value`.

    >>> parse_channel_arguments("grpc.max_connection_age_ms=2000")
    [('grpc.max_connection_age_ms', 2000)]
    """
    arguments: list[tuple[str, str | int]] = []
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise ValueError(
                "grpc_channel_arguments must be key=value pairs with commas between. "
                f"Received: grpc_channel_arguments={text!r}."
            )
        arguments.append((key, int(value) if value.lstrip("-").isdigit() else value))
    return arguments


def _config_reader(
    config: server_config.ServerConfig,
) -> Callable[[], list[model_configs.ModelConfig]]:
    if config.model_config_file is not None:
        path = pathlib.Path(config.model_config_file)
        return lambda: model_configs.read_config_file(path)
    base_path = pathlib.Path(config.model_base_path or "").absolute()
    if not base_path.is_dir():
        raise ValueError(
            "model_base_path must be a folder that holds numbered version folders. "
            f"Received: model_base_path={config.model_base_path!r}."
        )
    return lambda: [model_configs.ModelConfig(config.model_name, base_path)]


def _loader_options(config: server_config.ServerConfig) -> loading.LoaderOptions:
    # One worker for each two CPUs: the event loop and TensorFlow's own threads need the rest.
    workers = max(1, len(os.sched_getaffinity(0)) // 2)
    default = batching.BatchingOptions(num_batch_threads=workers)
    chosen = None
    if config.enable_batching is True:
        path = config.batching_parameters_file
        chosen = model_configs.read_batching_file(pathlib.Path(path) if path else None)
    elif config.enable_batching is False:
        chosen = batching.BatchingOptions(is_enabled=False, num_batch_threads=workers)
    return loading.LoaderOptions(
        load=loaded_model.LoadOptions(
            engine=config.engine,
            threads=_threads(config),
            check_tf1_shapes=config.check_tf1_shapes,
            warm_up=config.enable_model_warmup,
        ),
        chosen_batching=chosen,
        default_batching=default,
        num_load_threads=config.num_load_threads,
    )


def _threads(config: server_config.ServerConfig) -> backends.Threads | None:
    """Returns what the flags say of TensorFlow's threads; None if they say nothing."""
    both = config.tensorflow_session_parallelism
    chosen = backends.Threads(
        intra_op=config.tensorflow_intra_op_parallelism or both,
        inter_op=config.tensorflow_inter_op_parallelism or both,
    )
    return None if chosen == backends.TENSORFLOWS_CHOICE else chosen


def _metrics_path(file: str | None) -> str | None:
    if file is None:
        return None
    parsed = text_protos.parse_file(pathlib.Path(file), text_protos.new_message("MonitoringConfig"))
    prometheus = parsed.prometheus_config
    return (prometheus.path or _DEFAULT_METRICS_PATH) if prometheus.enable else None
