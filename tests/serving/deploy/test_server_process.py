import contextlib
import http.server
import socket
import subprocess
import threading

import pytest

from serving.deploy import server_process

# As TF Serving prints it.
STATUS = """{
 "model_version_status": [
  {
   "version": "1",
   "state": "%s",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  }
 ]
}
"""


@contextlib.contextmanager
def answering(states):
    """A server on a free port whose status route tells these states, and 404 for other models."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            state = states.get(self.path.removeprefix("/v1/models/"))
            body = (STATUS % state if state else '{ "error": "Could not find it" }').encode()
            self.send_response(200 if state else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def is_ready(config):
    command = server_process.readiness_command(config)
    done = subprocess.run(command, capture_output=True, timeout=20, check=False)
    return done.returncode == 0


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({"digits": "AVAILABLE", "other": "AVAILABLE"}, True),
        ({"digits": "AVAILABLE", "other": "LOADING"}, False),
        ({"digits": "END", "other": "AVAILABLE"}, False),
        ({"digits": "AVAILABLE"}, False),
    ],
)
def test_ready_means_that_every_model_is_available(make_config, states, expected):
    with answering(states) as port:
        models = [{"name": "digits"}, {"name": "other"}]
        assert is_ready(make_config(models=models, rest_port=port)) is expected


def test_server_that_does_not_listen_is_not_ready(make_config):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not is_ready(make_config(rest_port=taken.getsockname()[1]))


def test_flags_name_a_file_for_each_part_that_is_on(full_config):
    assert server_process.flags(full_config) == [
        "--port=8500",
        "--rest_api_port=8501",
        "--rest_api_timeout_in_ms=30000",
        "--model_config_file=/etc/kerasline/models.config",
        "--file_system_poll_wait_seconds=1",
        "--enable_batching=true",
        "--batching_parameters_file=/etc/kerasline/batching.config",
        "--monitoring_config_file=/etc/kerasline/monitoring.config",
        "--ssl_config_file=/etc/kerasline-tls/ssl.config",
    ]


def test_flags_name_no_file_of_a_part_that_is_off(make_config):
    config = make_config(batching={"is_enabled": False}, monitoring={"is_enabled": False})
    assert not any(
        "batching" in word or "monitoring" in word for word in server_process.flags(config)
    )
