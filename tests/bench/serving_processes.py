"""What the serving benchmark starts: the graph alone, `kerasline serve` and other servers."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

from tests.bench import process

PROGRAMS = "tests.bench.programs"
PEERS = {"FastAPI": "peer_fastapi", "LitServe": "peer_litserve", "KServe": "peer_kserve"}
_START_SECS = 120.0
_PREDICT_PATH = "/v1/models/conv:predict"

Row = dict[str, float]


class RawCallable:
    """The process that runs the graph alone."""

    def __init__(self, folder: pathlib.Path):
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{PROGRAMS}.raw_callable", str(folder / "model" / "1")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=environment(),
            cwd=process.REPOSITORY,
        )
        self.measure(rows=1, seconds=0.1)

    def measure(self, *, rows: int, seconds: float) -> Row:
        """Calls it with `rows` images at a time for `seconds`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{rows} {seconds}\n")
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(timeout=10)


class OwnServer:
    """`kerasline serve`, started as a user does."""

    def __init__(self, folder: pathlib.Path, flags: Sequence[str]):
        command = [sys.executable, "-m", "pipeline.cli.main", "serve", "--model_name=conv"]
        command += [f"--model_base_path={folder / 'model'}", "--port=0", "--rest_api_port=0"]
        self._process = subprocess.Popen(
            [*command, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
            cwd=process.REPOSITORY,
        )
        assert self._process.stdout is not None
        found = re.search(r"http://.*:(\d+)/, gRPC at .*:(\d+)$", self._process.stdout.readline())
        if found is None:
            raise SystemExit(f"The server did not start: {' '.join(command)}")
        self.rest_port, self.grpc_port = int(found[1]), int(found[2])

    def stop(self) -> None:
        """Lets it drain."""
        self._process.terminate()
        self._process.wait(timeout=60)


class Peer:
    """Another server, in its own environment."""

    def __init__(self, python: pathlib.Path, program: str, folder: pathlib.Path):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.rest_port = listener.getsockname()[1]
        script = process.REPOSITORY / "tests" / "bench" / "programs" / f"{program}.py"
        self._process = subprocess.Popen(
            [str(python), str(script), str(folder / "model" / "1"), str(self.rest_port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd=folder,
            start_new_session=True,
        )
        self._body = (folder / "rest.bin").read_bytes()

    def wait(self) -> bool:
        """Tells whether it answers within _START_SECS."""
        ends_at = time.monotonic() + _START_SECS
        url = f"http://127.0.0.1:{self.rest_port}{_PREDICT_PATH}"
        headers = {"Content-Type": "application/json"}
        while time.monotonic() < ends_at and self._process.poll() is None:
            try:
                request = urllib.request.Request(url, self._body, headers)
                with urllib.request.urlopen(request, timeout=30) as response:
                    return response.status == 200
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.25)
        return False

    def stop(self) -> None:
        """Ends it and its workers."""
        # Its session: LitServe's workers outlive their parent.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=10)


def start_peers(folder: pathlib.Path, venv: pathlib.Path | None) -> dict[str, Peer]:
    """Starts the peers that the environment can run; says which are left out and why."""
    if venv is None or not (venv / "bin" / "python").exists():
        print(f"No peers are measured: --peers-venv={venv} is no virtual environment.")
        return {}
    peers = {}
    for name, program in PEERS.items():
        peer = Peer(venv / "bin" / "python", program, folder)
        if peer.wait():
            peers[name] = peer
        else:
            peer.stop()
            print(f"{name} is left out: it did not answer within {_START_SECS:.0f} s.")
    return peers


def export_model(folder: pathlib.Path, stage_channels: Sequence[int]) -> None:
    """Writes the model that everything here runs, and the requests for it."""
    command = [sys.executable, "-m", f"{PROGRAMS}.conv_net", str(folder), "--channels"]
    command += [str(channels) for channels in stage_channels]
    subprocess.run(
        command, check=True, env=environment(), cwd=process.REPOSITORY, capture_output=True
    )


def environment() -> dict[str, str]:
    """Returns the environment variables of what the benchmark starts."""
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(process.REPOSITORY)}
