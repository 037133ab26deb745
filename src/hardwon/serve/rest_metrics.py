"""What a server did, for Prometheus. No label takes a value that a caller makes up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hardwon import limits
from hardwon.govern.access import Caller
from hardwon.serve.arguments import Nothing
from hardwon.serve.gate import Gate

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN: Final = "unknown"
"""The operation of a request that was refused before anybody looked what it asks for, or that asks for nothing we have."""

_LATENCIES_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics:
    """Counts for one server."""

    def __init__(self, gate: Gate) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hardwon_requests", "Requests that were answered.", ["operation", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hardwon_request_seconds",
            "How long they took.",
            ["operation"],
            buckets=_LATENCIES_S,
            registry=self._registry,
        )
        self._in_flight = Gauge("hardwon_requests_in_flight", "Requests under way.", registry=self._registry)
        self._sizes = _Sizes(gate)

    def begun(self) -> None:
        self._in_flight.inc()

    def ended(self, operation: str, status: int, seconds: float) -> None:
        self._in_flight.dec()
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text_for(self, caller: Caller) -> bytes:
        """All of it; of projects, those that the caller reaches."""
        projects = CollectorRegistry()
        projects.register(_Projects(self._sizes.of(caller)))
        return generate_latest(self._registry) + generate_latest(projects)


class _Sizes:
    """How many records the open projects have, counted now and then."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, int, int]] = {}

    def of(self, caller: Caller) -> dict[str, tuple[int, int]]:
        """Records, and the bytes of the file, by project."""
        found = {}
        with self._lock:
            open_now = self._gate.open_projects()
            self._known = {name: known for name, known in self._known.items() if name in open_now}
            for project in open_now:
                if caller.projects is not None and project not in caller.projects:
                    continue
                at, records, size_bytes = self._known.get(project, (0.0, 0, 0))
                if not at or time.monotonic() - at > limits.METRICS_COUNTED_S:
                    stats = self._gate.perform(caller, "stats", project, Nothing())
                    records, size_bytes = stats.records, stats.size_bytes
                    self._known[project] = (time.monotonic(), records, size_bytes)
                found[project] = (records, size_bytes)
        return found


class _Projects(Collector):
    def __init__(self, sizes: dict[str, tuple[int, int]]) -> None:
        self._sizes = sizes

    def collect(self) -> Iterable[Metric]:
        records = GaugeMetricFamily("hardwon_records", "Records of an open project.", labels=["project"])
        for project, (count, _) in self._sizes.items():
            records.add_metric([project], count)
        yield records
        size = max((size_bytes for _, size_bytes in self._sizes.values()), default=0)
        yield GaugeMetricFamily("hardwon_memory_bytes", "The memory's file, whatever its projects.", value=size)
