"""The baseline of the serving benchmark: the graph alone, through a v1 session's callable.

It answers each line `ROWS SECONDS` on its standard input with one line of JSON.

    python -m tests.bench.programs.raw_callable FOLDER/model/1
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

_MIN_CALLS = 20


def load(directory: str) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Returns a function from images float32 (B, 28, 28, 1) to all outputs of the signature."""
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        graph = tf.compat.v1.saved_model.load(session, ["serve"], directory)
    signature = graph.signature_def["serving_default"]
    options = config_pb2.CallableOptions(
        feed=[signature.inputs["image"].name],
        fetch=[tensor.name for tensor in signature.outputs.values()],
    )
    return session._make_callable_from_options(options)


def measure(call: Callable[[np.ndarray], list[np.ndarray]], rows: int, seconds: float) -> dict:
    """Calls for `seconds`, one call after the other."""
    images_BHW1 = np.random.default_rng(0).uniform(0, 255, (rows, 28, 28, 1)).astype(np.float32)
    for _ in range(_MIN_CALLS):
        call(images_BHW1)
    latencies: list[float] = []
    stop_at = time.perf_counter() + seconds
    start = time.perf_counter()
    while start < stop_at:
        call(images_BHW1)
        end = time.perf_counter()
        latencies.append(end - start)
        start = end
    return {
        "rps": rows * len(latencies) / sum(latencies),
        "p50_us": float(np.median(latencies)) * 1e6,
        "p99_us": float(np.percentile(latencies, 99)) * 1e6,
    }


def main() -> None:
    """Answers until its standard input ends."""
    call = load(sys.argv[1])
    for line in sys.stdin:
        rows, seconds = line.split()
        print(json.dumps(measure(call, int(rows), float(seconds))), flush=True)


if __name__ == "__main__":
    main()
