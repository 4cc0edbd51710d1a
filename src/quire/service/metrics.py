"""Metrics for Prometheus: requests, streams and jobs. No label holds a name of a user or a conversation."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The figures of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "quire_request_seconds",
            "Requests by route and status, and how long they took; streams until they were closed.",
            ("route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Show a figure that is read when it is asked for."""
        Gauge(name, help, registry=self._registry).set_function(read)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """All figures in the format of Prometheus."""
        return generate_latest(self._registry)
