"""`kerasline serve` against the graph alone, and against servers that a user might pick instead.

All load comes from processes of its own, over raw sockets. Everything is started once and measured
in turn, `--rounds` times; medians and ratios of the same rounds are printed as a Markdown table and
as JSON.

    .venv/bin/python -m tests.bench.bench_serving --peers-venv /tmp/peers

The peers run in an environment apart, which is made with:

    python3.11 -m venv /tmp/peers
    /tmp/peers/bin/pip install tensorflow==2.21.0 fastapi "uvicorn[standard]" litserve kserve
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

import numpy as np

from tests.bench import machine

REPOSITORY = pathlib.Path(__file__).parents[2]
PROGRAMS = "tests.bench.programs"
PEERS = {"FastAPI": "peer_fastapi", "LitServe": "peer_litserve", "KServe": "peer_kserve"}
MANY_CLIENTS = 64
LOAD_SECS = 2.5
SWAP_LOAD_SECS = 8.0
SWAP_AFTER_SECS = 3.0
START_SECS = 120.0
# Names of measurements -> how they are called in the tables.
WORDS = {
    "raw": "the graph alone",
    "http2": "gRPC, `--grpc_frontend=http2`",
    "REST": "REST",
    "grpcio": "gRPC, `--grpc_frontend=grpcio`",
}
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
            env=_environment(),
            cwd=REPOSITORY,
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
            env=_environment(),
            cwd=REPOSITORY,
        )
        assert self._process.stdout is not None
        lines = [self._process.stdout.readline() for _ in range(2)]
        if not lines[1]:
            raise SystemExit(f"The server did not start: {' '.join(command)}")
        self.rest_port, self.grpc_port = (
            int(line.rstrip("/\n").rpartition(":")[2]) for line in lines
        )

    def stop(self) -> None:
        """Lets it drain."""
        self._process.terminate()
        self._process.wait(timeout=60)


class Peer:
    """Another server, in its own environment."""

    def __init__(self, python: pathlib.Path, program: str, folder: pathlib.Path):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.rest_port = listener.getsockname()[1]
        script = REPOSITORY / "tests" / "bench" / "programs" / f"{program}.py"
        self._process = subprocess.Popen(
            [str(python), str(script), str(folder / "model" / "1"), str(self.rest_port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd=folder,
            start_new_session=True,
        )
        self._body = (folder / "rest.bin").read_bytes()

    def wait(self) -> bool:
        """Tells whether it answers within START_SECS."""
        ends_at = time.monotonic() + START_SECS
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


def start_load(
    folder: pathlib.Path, protocol: str, port: int, *, clients: int, seconds: float, extra=()
) -> subprocess.Popen:
    """Starts a load generator, which prints one line of JSON at its end."""
    command = [sys.executable, "-m", f"{PROGRAMS}.load_generator", protocol, str(port)]
    command += [str(folder / f"{protocol}.bin"), "--clients", str(clients)]
    command += ["--seconds", str(seconds), *extra]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=_environment(), cwd=REPOSITORY
    )


def finish_load(process: subprocess.Popen) -> Row:
    """Returns what a load generator measured."""
    output, _ = process.communicate(timeout=SWAP_LOAD_SECS + 60)
    if process.returncode:
        raise SystemExit(f"The load generator ended with {process.returncode}.")
    return json.loads(output)


def measure_load(folder: pathlib.Path, protocol: str, port: int, clients: int) -> Row:
    """Loads a port for LOAD_SECS."""
    return finish_load(start_load(folder, protocol, port, clients=clients, seconds=LOAD_SECS))


def measure_swap(folder: pathlib.Path, server: OwnServer, version: int, clients: int) -> Row:
    """Publishes a version under load; returns the p99 before and from then until it answers."""
    timeline = folder / "timeline.npy"
    load = start_load(
        folder,
        "grpc",
        server.grpc_port,
        clients=clients,
        seconds=SWAP_LOAD_SECS,
        extra=("--timeline", str(timeline)),
    )
    time.sleep(SWAP_AFTER_SECS)
    aside = folder / f"aside_{version}"
    shutil.copytree(folder / "model" / "1", aside)
    published_at = time.time()
    aside.rename(folder / "model" / str(version))
    available_at = _wait_until_available(server.rest_port, version)
    finish_load(load)
    ended_at, latencies = np.load(timeline)
    during = (ended_at >= published_at) & (ended_at - latencies <= available_at + 0.5)
    before = ended_at < published_at
    return {
        "p99_before_us": float(np.percentile(latencies[before], 99)) * 1e6,
        "p99_during_us": float(np.percentile(latencies[during], 99)) * 1e6,
        "max_during_us": float(latencies[during].max()) * 1e6,
        "seconds": available_at - published_at,
    }


def _wait_until_available(rest_port: int, version: int) -> float:
    url = f"http://127.0.0.1:{rest_port}/v1/models/conv/versions/{version}"
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                if b"AVAILABLE" in response.read():
                    return time.time()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
        time.sleep(0.05)
    raise SystemExit(f"Version {version} did not become available.")


def _environment() -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(REPOSITORY)}


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
            print(f"{name} is left out: it did not answer within {START_SECS:.0f} s.")
    return peers


def measure_round(
    folder: pathlib.Path, raw: RawCallable, servers: Sequence[OwnServer], peers: dict[str, Peer]
) -> dict[str, Row]:
    """Measures everything once, in turn."""
    rows = {"raw 32": raw.measure(rows=32, seconds=LOAD_SECS)}
    rows["raw 1"] = raw.measure(rows=1, seconds=LOAD_SECS / 2)
    fast, complete = servers
    ports = {"http2": fast.grpc_port, "REST": fast.rest_port, "grpcio": complete.grpc_port}
    for clients in (MANY_CLIENTS, 1):
        for name, port in ports.items():
            protocol = "rest" if name == "REST" else "grpc"
            rows[f"{name} {clients}"] = measure_load(folder, protocol, port, clients)
    for name, peer in peers.items():
        rows[name] = measure_load(folder, "rest", peer.rest_port, MANY_CLIENTS)
    return rows


def throughput_table(rounds: list[dict[str, Row]]) -> str:
    """Returns the Markdown table of 64 clients: rows a second, and their share of the graph's."""
    lines = [f"| {MANY_CLIENTS} clients | requests/s | p50 ms | p99 ms | of the graph, batch 32 |"]
    lines.append("|---|---|---|---|---|")
    own = [f"{name} {MANY_CLIENTS}" for name in ("http2", "REST", "grpcio")]
    for name in ("raw 32", *own, *PEERS):
        if name not in rounds[0]:
            continue
        share = statistics.median(row[name]["rps"] / row["raw 32"]["rps"] for row in rounds)
        lines.append(
            f"| {_words(name)} | {_median(rounds, name, 'rps'):,.0f} "
            f"| {_median(rounds, name, 'p50_us') / 1e3:.2f} "
            f"| {_median(rounds, name, 'p99_us') / 1e3:.2f} | {share:.3f}x |"
        )
    return "\n".join(lines)


def latency_table(rounds: list[dict[str, Row]]) -> str:
    """Returns the Markdown table of one client."""
    lines = [
        "| one client | p50 ms | p99 ms | p50 above the graph alone, ms |",
        "|---|---|---|---|",
    ]
    for name in ("raw 1", "http2 1", "REST 1", "grpcio 1"):
        above = statistics.median(row[name]["p50_us"] - row["raw 1"]["p50_us"] for row in rounds)
        lines.append(
            f"| {_words(name)} | {_median(rounds, name, 'p50_us') / 1e3:.3f} "
            f"| {_median(rounds, name, 'p99_us') / 1e3:.3f} | {above / 1e3:.3f} |"
        )
    return "\n".join(lines)


def _words(name: str) -> str:
    return WORDS.get(name.split()[0], name)


def _median(rounds: list[dict[str, Row]], name: str, field: str) -> float:
    return statistics.median(row[name][field] for row in rounds)


def peers_line(rounds: list[dict[str, Row]]) -> str:
    """Says how far ahead of the best peer each protocol is."""
    peers = [name for name in PEERS if name in rounds[0]]
    if not peers:
        return "No peer was measured."
    best = max(peers, key=lambda name: _median(rounds, name, "rps"))
    ratios = {
        name: statistics.median(
            row[f"{name} {MANY_CLIENTS}"]["rps"] / row[best]["rps"] for row in rounds
        )
        for name in ("http2", "REST", "grpcio")
    }
    words = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in ratios.items())
    return f"Best peer: {best}; of its requests a second, {words}."


def main() -> None:
    """Parses the arguments, runs the rounds and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--channels", type=int, nargs="+", default=[8])
    parser.add_argument("--peers-venv", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench_serving_"))
    command = [sys.executable, "-m", f"{PROGRAMS}.conv_net", str(folder), "--channels"]
    command += [str(channels) for channels in arguments.channels]
    subprocess.run(command, check=True, env=_environment(), cwd=REPOSITORY, capture_output=True)
    servers = [OwnServer(folder, ["--grpc_frontend=http2"]), OwnServer(folder, [])]
    # Nothing was asked before.
    first = measure_load(folder, "grpc", servers[0].grpc_port, 1)
    raw = RawCallable(folder)
    peers = start_peers(folder, arguments.peers_venv)
    try:
        rounds = []
        for index in range(arguments.rounds):
            rounds.append(measure_round(folder, raw, servers, peers))
            print(f"round {index + 1}: {rounds[-1]}", file=sys.stderr, flush=True)
        swaps = [measure_swap(folder, servers[0], 2, clients=1)]
        swaps.append(measure_swap(folder, servers[0], 3, clients=8))
    finally:
        for process in (raw, *servers, *peers.values()):
            process.stop()
    print(machine.describe())
    print(throughput_table(rounds), latency_table(rounds), peers_line(rounds), sep="\n\n")
    first_ms, p99_ms = first["first_us"] / 1e3, first["p99_us"] / 1e3
    share = first_ms / p99_ms
    print(f"\nFirst request {first_ms:.2f} ms, {share:.2f}x of the p99 of {p99_ms:.2f} ms.")
    for clients, swap in zip((1, 8), swaps, strict=True):
        before, during = swap["p99_before_us"] / 1e3, swap["p99_during_us"] / 1e3
        print(
            f"Hot swap with {clients} clients: p99 {before:.2f} ms before, {during:.2f} ms during "
            f"its {swap['seconds']:.1f} s; adds {(during - before) / before:.2f}x of the p99."
        )
    print(json.dumps({"rounds": rounds, "first": first, "swaps": swaps}))


if __name__ == "__main__":
    main()
