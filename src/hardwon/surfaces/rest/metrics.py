"""What a server did, for Prometheus. No label takes a value that a caller makes up."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)


class Metrics:
    """Counts for one server."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        by = ["operation", "status"]
        self._requests = Counter(
            "hardwon_requests", "Requests that were answered.", by, registry=registry
        )
        self._seconds = Histogram(
            "hardwon_request_seconds",
            "How long they took.",
            by[:1],
            buckets=_SECONDS,
            registry=registry,
        )
        self.in_flight = Gauge(
            "hardwon_requests_in_flight", "Requests under way.", registry=registry
        )

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def write(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
