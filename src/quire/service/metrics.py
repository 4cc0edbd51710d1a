"""Metrics for Prometheus: requests, streams and jobs. No label holds a name of a user or a conversation."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The figures of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "quire_requests",
            "Requests by route and status.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "quire_request_seconds",
            "How long requests took; those of streams until the stream was closed.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._jobs = Counter(
            "quire_jobs_accepted", "Messages, decisions and results accepted.", registry=self._registry
        )
        self._refused = Counter(
            "quire_refused", "Requests refused, by reason.", ("reason",), registry=self._registry
        )

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Show a figure that is read when it is asked for."""
        Gauge(name, help, registry=self._registry).set_function(read)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method.isupper() else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def accepted(self) -> None:
        """Count a job."""
        self._jobs.inc()

    def refused(self, reason: str) -> None:
        """Count a request that was refused because of a limit."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """All figures in the format of Prometheus."""
        return generate_latest(self._registry)
