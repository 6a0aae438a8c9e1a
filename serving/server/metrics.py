"""Counters and histograms under TF Serving's names, as Prometheus text."""

import bisect
import collections
import functools
import threading
from collections.abc import Iterator

_PREFIX = ":tensorflow:serving:"
# TF Serving's buckets: 10 us times powers of 1.8, 33 of them (about 20 minutes).
_BOUNDS_MICROS = tuple(10 * 1.8**power for power in range(33))

Labels = tuple[tuple[str, str], ...]


class _Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_MICROS) + 1)
        self.sum_micros = 0.0

    def add(self, micros: float) -> None:
        self.counts[bisect.bisect_left(_BOUNDS_MICROS, micros)] += 1
        self.sum_micros += micros


class Metrics:
    """What the server has done since it started; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, dict[Labels, int]] = collections.defaultdict(
            lambda: collections.defaultdict(int)
        )
        self._histograms: dict[str, dict[Labels, _Histogram]] = collections.defaultdict(
            lambda: collections.defaultdict(_Histogram)
        )

    def request_done(
        self, *, model_name: str, api: str, entrypoint: str, status: str, micros: float
    ) -> None:
        """Counts a finished request.

        Args:
            model_name: The served model; requests for unknown models are not counted, so that
                clients
                cannot make up label values.
            api: `Predict`, `Classify`, `Regress` or `MultiInference`.
            entrypoint: `REST` or `GRPC`.
            status: The status code's name, such as `OK`.
            micros: From the whole request received to the answer ready.
        """
        count_labels, labels = _request_labels(model_name, api, entrypoint, status)
        with self._lock:
            self._counters["request_count"][count_labels] += 1
            self._histograms["request_latency"][labels].add(micros)

    def run_done(self, *, model_name: str, micros: float, num_rows: int) -> None:
        """Counts a run of the graph, which may serve several requests."""
        labels = (("API", "Predict"), ("model_name", model_name), ("runtime", "TF1"))
        with self._lock:
            self._histograms["runtime_latency"][labels].add(micros)
            self._counters["request_example_count_total"][(("model", model_name),)] += num_rows

    def totals(self, model_name: str) -> tuple[int, float]:
        """Returns how many requests of a model were answered, and their microseconds together."""
        with self._lock:
            count, micros = 0, 0.0
            for labels, histogram in self._histograms["request_latency"].items():
                if ("model_name", model_name) in labels:
                    count += sum(histogram.counts)
                    micros += histogram.sum_micros
            return count, micros

    def to_prometheus(self) -> str:
        """Returns everything in Prometheus's text format."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, cells in sorted(self._counters.items()):
            yield f"# TYPE {_PREFIX}{name} counter"
            for labels, value in sorted(cells.items()):
                yield f"{_PREFIX}{name}{_format(labels)} {value}"
        for name, histograms in sorted(self._histograms.items()):
            yield f"# TYPE {_PREFIX}{name} histogram"
            for labels, histogram in sorted(histograms.items()):
                yield from _histogram_lines(_PREFIX + name, labels, histogram)


@functools.lru_cache(maxsize=1_024)
def _request_labels(
    model_name: str, api: str, entrypoint: str, status: str
) -> tuple[Labels, Labels]:
    """Returns the labels of `request_count` and of `request_latency`."""
    count_labels = (("model_name", model_name), ("status", status))
    return count_labels, (("API", api), ("entrypoint", entrypoint), *count_labels)


def _histogram_lines(name: str, labels: Labels, histogram: _Histogram) -> Iterator[str]:
    total = 0
    bounds = [f"{bound:g}" for bound in _BOUNDS_MICROS] + ["+Inf"]
    for bound, count in zip(bounds, histogram.counts, strict=True):
        total += count
        yield f"{name}_bucket{_format((*labels, ('le', bound)))} {total}"
    yield f"{name}_sum{_format(labels)} {histogram.sum_micros:g}"
    yield f"{name}_count{_format(labels)} {total}"


def _format(labels: Labels) -> str:
    escaped = (
        (key, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for key, value in labels
    )
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped) + "}"
