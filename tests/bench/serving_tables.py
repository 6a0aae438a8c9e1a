"""The tables that the serving benchmark prints, in Markdown."""

import statistics

from tests.bench import serving_processes

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


def first_request_line(load: serving_processes.Row) -> str:
    """Compares the first request that a server was ever asked with those that came after it."""
    first_ms, p99_ms = load["first_us"] / 1e3, load["p99_us"] / 1e3
    return (
        f"First request {first_ms:.2f} ms, {first_ms / p99_ms:.2f}x of the p99 of {p99_ms:.2f} ms."
    )


def swap_line(swap: serving_processes.Row, num_clients: int) -> str:
    """Compares the p99 while a version was loaded with the p99 before."""
    before_ms, during_ms = swap["p99_before_us"] / 1e3, swap["p99_during_us"] / 1e3
    return (
        f"Hot swap with {num_clients} clients: p99 {before_ms:.2f} ms before, {during_ms:.2f} ms "
        f"during its {swap['seconds']:.1f} s; adds {(during_ms - before_ms) / before_ms:.2f}x of "
        "the p99."
    )
