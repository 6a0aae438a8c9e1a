"""The tables that the serving benchmark prints, in Markdown."""

import statistics
from collections.abc import Mapping

from tests.bench import serving_processes, serving_start

MANY_CLIENTS = 64
# Names of measurements -> how they are called in the tables.
_WORDS = {
    "raw": "the graph alone",
    "http2": "gRPC, `--grpc_frontend=http2`",
    "REST": "REST",
    "grpcio": "gRPC, `--grpc_frontend=grpcio`",
}

Rounds = list[dict[str, serving_processes.Row]]


def throughput_table(rounds: Rounds) -> str:
    """Returns the Markdown table of 64 clients: rows a second, and their share of the graph's."""
    lines = [f"| {MANY_CLIENTS} clients | requests/s | p50 ms | p99 ms | of the graph, batch 32 |"]
    lines.append("|---|---|---|---|---|")
    own = [f"{name} {MANY_CLIENTS}" for name in ("http2", "REST", "grpcio")]
    for name in ("raw 32", *own, *serving_processes.PEERS):
        if name not in rounds[0]:
            continue
        share = statistics.median(row[name]["rps"] / row["raw 32"]["rps"] for row in rounds)
        lines.append(
            f"| {_words(name)} | {_median(rounds, name, 'rps'):,.0f} "
            f"| {_median(rounds, name, 'p50_us') / 1e3:.2f} "
            f"| {_median(rounds, name, 'p99_us') / 1e3:.2f} | {share:.3f}x |"
        )
    return "\n".join(lines)


def latency_table(rounds: Rounds) -> str:
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
    return _WORDS.get(name.split()[0], name)


def _median(rounds: Rounds, name: str, field: str) -> float:
    return statistics.median(row[name][field] for row in rounds)


def peers_line(rounds: Rounds) -> str:
    """Says how far ahead of the best peer each protocol is."""
    peers = [name for name in serving_processes.PEERS if name in rounds[0]]
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


def start_lines(starts: Mapping[str, list[serving_processes.Row]]) -> str:
    """Compares a start with TensorFlow's, and each server's first request with its later ones."""
    bare, server = starts["bare"], starts["server"]
    ready = serving_start.median_ratio(server, "ready_secs", bare, "ready_secs")
    first = serving_start.median_ratio(server, "first_us", server, "p99_us")
    shares = ", ".join(f"{row['first_us'] / row['p99_us']:.2f}x" for row in server)
    return (
        f"Ready after {_middle(server, 'ready_secs'):.2f} s, importing TensorFlow and loading "
        f"alone {_middle(bare, 'ready_secs'):.2f} s: {ready:.2f}x.\n\n"
        f"First request {_middle(server, 'first_us') / 1e3:.2f} ms, p99 after it "
        f"{_middle(server, 'p99_us') / 1e3:.2f} ms: {first:.2f}x, the median of {shares}. "
        f"A request after half a second's rest {_middle(server, 'rested_us') / 1e3:.2f} ms."
    )


def _middle(rows: list[serving_processes.Row], field: str) -> float:
    return statistics.median(row[field] for row in rows)


def swap_line(swaps: list[serving_processes.Row], num_clients: int) -> str:
    """Compares the p99 while versions were loaded with the p99 before."""
    added = [swap["p99_during_us"] / swap["p99_before_us"] - 1 for swap in swaps]
    shares = ", ".join(f"{share:.2f}x" for share in added)
    return (
        f"Hot swap with {num_clients} clients: p99 {_middle(swaps, 'p99_before_us') / 1e3:.2f} ms "
        f"before, {_middle(swaps, 'p99_during_us') / 1e3:.2f} ms during its "
        f"{_middle(swaps, 'seconds'):.1f} s; adds {statistics.median(added):.2f}x of the p99, the "
        f"median of {shares}."
    )
