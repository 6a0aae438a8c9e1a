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
import itertools
import json
import pathlib
import sys
import tempfile
from collections.abc import Mapping, Sequence

from tests.bench import (
    machine,
    serving_load,
    serving_processes,
    serving_start,
    serving_swap,
    serving_tables,
)


def measure_round(
    folder: pathlib.Path,
    raw: serving_processes.RawCallable,
    servers: Sequence[serving_processes.OwnServer],
    peers: Mapping[str, serving_processes.Peer],
) -> dict[str, serving_processes.Row]:
    """Measures everything once, in turn."""
    rows = {"raw 32": raw.measure(rows=32, seconds=serving_load.LOAD_SECS)}
    rows["raw 1"] = raw.measure(rows=1, seconds=serving_load.LOAD_SECS / 2)
    fast, complete = servers
    ports = {"http2": fast.grpc_port, "REST": fast.rest_port, "grpcio": complete.grpc_port}
    for clients in (serving_tables.MANY_CLIENTS, 1):
        for name, port in ports.items():
            protocol = "rest" if name == "REST" else "grpc"
            rows[f"{name} {clients}"] = serving_load.measure_load(folder, protocol, port, clients)
    for name, peer in peers.items():
        rows[name] = serving_load.measure_load(
            folder, "rest", peer.rest_port, serving_tables.MANY_CLIENTS
        )
    return rows


def main() -> None:
    """Parses the arguments, runs the rounds and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--channels", type=int, nargs="+", default=[8])
    parser.add_argument("--peers-venv", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench_serving_"))
    serving_processes.export_model(folder, arguments.channels)
    starts = serving_start.measure_starts(folder)
    servers = [
        serving_processes.OwnServer(folder, flags) for flags in (["--grpc_frontend=http2"], [])
    ]
    raw = serving_processes.RawCallable(folder)
    peers = serving_processes.start_peers(folder, arguments.peers_venv)
    try:
        rounds = []
        for index in range(arguments.rounds):
            rounds.append(measure_round(folder, raw, servers, peers))
            print(f"round {index + 1}: {rounds[-1]}", file=sys.stderr, flush=True)
        versions = itertools.count(2)
        swaps = {
            clients: [
                serving_swap.measure_swap(folder, servers[0], next(versions), clients)
                for _ in range(serving_swap.NUM_SWAPS)
            ]
            for clients in (1, 8)
        }
    finally:
        for started in (raw, *servers, *peers.values()):
            started.stop()
    print(
        machine.describe(),
        serving_tables.throughput_table(rounds),
        serving_tables.latency_table(rounds),
        serving_tables.peers_line(rounds),
        serving_tables.start_lines(starts),
        *[serving_tables.swap_line(rows, clients) for clients, rows in swaps.items()],
        sep="\n\n",
    )
    print(json.dumps({"rounds": rounds, "starts": starts, "swaps": swaps}))


if __name__ == "__main__":
    main()
