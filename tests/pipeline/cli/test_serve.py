"""`kerasline serve` as a process of its own: flags, signals, death."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import httpx
import pytest

from pipeline.cli import main
from serving.server import app, config, flags
from tests.serving import harness, model_factory

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> pathlib.Path:
    """A project with one published recipe."""
    folder = tmp_path_factory.mktemp("project") / "runs"
    model_factory.write_half_plus(folder / "tiny" / "published" / "1", offset=1)
    return folder


@contextlib.contextmanager
def start(*words):
    """Runs the command, and gives the process and the address of its REST port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli.main", "serve", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    guard = threading.Timer(300, process.kill)
    guard.start()
    try:
        line = process.stdout.readline()
        found = re.fullmatch(
            r"Ready: tiny version 1\. REST and a page at (http://127\.0\.0\.1:\d+)/, "
            r"gRPC at 127\.0\.0\.1:\d+\n",
            line,
        )
        assert found, f"The server did not start: {line!r}"
        yield process, found[1]
    finally:
        guard.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


def ask(address):
    response = httpx.post(f"{address}/v1/models/tiny:predict", json={"instances": [0.0]})
    return response.json()["predictions"]


def test_killed_server_starts_again_on_its_port_and_drains_on_sigterm(root):
    with start("--root", str(root), "--port=0", "--rest_api_port=0") as (process, address):
        assert ask(address) == [1.0]
        process.kill()
        process.wait(60)
    port = address.rpartition(":")[2]
    with start("--root", str(root), "--port=0", f"--rest_api_port={port}") as (process, again):
        assert again == address
        assert ask(again) == [1.0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_server_imports_neither_keras_nor_tfx_and_keras_can_follow():
    code = (
        "import sys\n"
        "from serving.server import tensorflow_import\n"
        "tensorflow_import.import_tensorflow()\n"
        "import serving.server.app, pipeline.cli.serve\n"
        "print([m for m in ('keras', 'tfx') if m in sys.modules])\n"
        "import keras; print(keras.backend.backend())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["[]", "tensorflow"], done.stderr


# As `tensorflow_model_server --help` of TensorFlow Serving lists them.
TENSORFLOW_SERVINGS_FLAGS = """
    port grpc_socket_path rest_api_port rest_api_num_threads rest_api_timeout_in_ms
    rest_api_enable_cors_support enable_batching allow_version_labels_for_unavailable_models
    batching_parameters_file enable_per_model_batching_parameters model_config_file
    model_config_file_poll_wait_seconds model_name model_base_path num_load_threads
    num_unload_threads max_num_load_retries load_retry_interval_micros
    file_system_poll_wait_seconds flush_filesystem_caches tensorflow_session_parallelism
    tensorflow_session_config_file tensorflow_intra_op_parallelism tensorflow_inter_op_parallelism
    use_alts_credentials ssl_config_file platform_config_file per_process_gpu_memory_fraction
    saved_model_tags grpc_channel_arguments grpc_max_threads enable_model_warmup
    num_request_iterations_for_warmup version monitoring_config_file
    remove_unused_fields_from_bundle_metagraph prefer_tflite_model num_tflite_pools
    num_tflite_interpreters_per_pool enable_signature_method_name_check xla_cpu_compilation_enabled
    xla_gpu_compilation_enabled enable_profiler thread_pool_factory_config_file mixed_precision
    skip_initialize_tpu enable_grpc_healthcheck_service enable_serialization_as_tensor_content
"""


@pytest.mark.parametrize("name", TENSORFLOW_SERVINGS_FLAGS.split())
def test_every_flag_of_tensorflow_serving_is_taken_or_refused_with_a_reason(name, capsys):
    if name in flags.HELP:
        return
    assert main.main(["serve", f"--{name}=1"]) == 2
    assert re.search(rf"flag --{name} is not supported: \S.*\.", capsys.readouterr().err)


def test_every_setting_is_a_flag_with_a_help_line():
    assert set(flags.HELP) == set(config.ServerConfig.model_fields)
    assert not set(flags.HELP) & set(flags.UNSUPPORTED)


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "No published model was found. Received: root="),
        (["other"], "No published model of recipe 'other' was found"),
        (["--port=x", "--model_base_path=/m"], "--port: .*integer.* Received: 'x'"),
        (["--enable_batching=x", "--model_base_path=/m"], "--enable_batching: .*boolean"),
        (["--port=5", "--rest_api_port=5", "--model_base_path=/m"], "must be different from port"),
        (["--model_base_path=/m", "--model_config_file=f"], "Exactly one of model_base_path and"),
        (["--model_base_path=/m", "--batching_parameters_file=f"], "Add --enable_batching"),
        (["tiny", "--model_base_path=/m"], "two things to serve"),
        (["--grpc_max_threads=3"], "--grpc_max_threads is not supported: one event loop"),
        (["--grpc_max_threads", "3"], "--grpc_max_threads is not supported"),
        (["--no_such_flag"], "No such option"),
    ],
)
def test_bad_words_end_with_status_2_and_a_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["serve", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    "flag, text, message",
    [
        ("model_config_file", "improperly formatted file", "text proto of .*ModelServerConfig"),
        ("model_config_file", "", "must have a model_config_list"),
        ("monitoring_config_file", "nonsense", "text proto of tensorflow.serving.MonitoringConfig"),
        ("ssl_config_file", "", "must have a server_key and a server_cert"),
        ("batching_parameters_file", "max_batch_size { value: 0 }", "Received: max_batch_size=0"),
        ("batching_parameters_file", "allowed_batch_sizes: 4", "end with max_batch_size"),
        (
            "batching_parameters_file",
            "enable_large_batch_splitting { value: true }",
            "enable_large_batch_splitting is not supported",
        ),
        ("grpc_channel_arguments", None, "must be key=value pairs"),
    ],
)
def test_bad_config_files_stop_the_start(root, tmp_path, flag, text, message):
    settings = {"model_name": "tiny", "model_base_path": str(root / "tiny" / "published")}
    value = "nonsense"
    if text is not None:
        value = str(tmp_path / "file")
        (tmp_path / "file").write_text(text)
    if flag == "model_config_file":
        settings = {}
    if flag == "batching_parameters_file":
        settings["enable_batching"] = True
    with pytest.raises(ValueError, match=message), harness.serve(**settings, **{flag: value}):
        pass


@pytest.mark.parametrize(
    "what, flag, frontend",
    [("gRPC", "port", "grpcio"), ("gRPC", "port", "http2"), ("REST", "rest_api_port", "grpcio")],
)
def test_taken_port_stops_the_start_with_the_flag_to_change(root, what, flag, frontend):
    settings = {"model_name": "tiny", "model_base_path": str(root / "tiny" / "published")}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = {flag: taken.getsockname()[1]}
        with (
            pytest.raises(app.ListenError, match=f"{what} cannot listen .* another with --{flag}"),
            harness.serve(**settings, **port, grpc_frontend=frontend),
        ):
            pass


@pytest.mark.skipif(not socket.has_ipv6, reason="No IPv6 here.")
@pytest.mark.parametrize("frontend", ["grpcio", "http2"])
def test_ipv6_address_is_listened_on(root, frontend):
    settings = {"model_name": "tiny", "model_base_path": str(root / "tiny" / "published")}
    with harness.serve(**settings, host="::1", grpc_frontend=frontend) as server:
        for port in (server.app.grpc_port, server.app.rest_port):
            socket.create_connection(("::1", port)).close()


def test_missing_base_path_stops_the_start(tmp_path):
    settings = {"model_name": "m", "model_base_path": str(tmp_path / "none")}
    with (
        pytest.raises(ValueError, match="must be a folder .* Received: model_base_path="),
        harness.serve(**settings),
    ):
        pass
