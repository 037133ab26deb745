"""What a server did, for Prometheus. No label takes a value that a caller makes up."""

from __future__ import annotations

import math
import threading
import time
from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest

from hardwon.surfaces.arguments import Nothing
from hardwon.surfaces.gate import Gate
from hardwon.trust.access import Caller

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# How long the number of a project's records is believed. To count a million takes half a second,
# and metrics are asked for often.
_COUNTED_S: Final = 60.0


class Metrics:
    """Counts for one server."""

    def __init__(self, gate: Gate) -> None:
        self._registry = CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "hardwon_requests",
            "Requests that were answered.",
            ["operation", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hardwon_request_seconds",
            "How long they took.",
            ["operation"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
            registry=self._registry,
        )
        self.in_flight = Gauge(
            "hardwon_requests_in_flight", "Requests under way.", registry=self._registry
        )
        self._gate = gate
        self._lock = threading.Lock()
        # Of each open project: when it was counted, its records, and the bytes of the file.
        self._sizes: dict[str, tuple[float, int, int]] = {}

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def write_for(self, caller: Caller) -> bytes:
        """All of it, as Prometheus reads it; of open projects, those that the caller reaches, which
        are counted now and then.
        """
        registry = CollectorRegistry()
        records = Gauge(
            "hardwon_records", "Records of an open project.", ["project"], registry=registry
        )
        size = Gauge(
            "hardwon_memory_bytes", "The memory's file, whatever its projects.", registry=registry
        )
        with self._lock:
            projects = self._gate.open_projects()
            self._sizes = {name: known for name, known in self._sizes.items() if name in projects}
            for name in projects:
                if caller.projects is not None and name not in caller.projects:
                    continue
                counted_at, count, size_bytes = self._sizes.get(name, (-math.inf, 0, 0))
                if time.monotonic() - counted_at > _COUNTED_S:
                    stats = self._gate.perform(caller, "stats", name, Nothing())
                    count, size_bytes = stats.records, stats.size_bytes
                    self._sizes[name] = (time.monotonic(), count, size_bytes)
                records.labels(name).set(count)
                size.set(size_bytes)
        return generate_latest(self._registry) + generate_latest(registry)
