"""Metrics for Prometheus: requests, streams, jobs, and models and tools of turns in this process.

No label holds a name of a user or a conversation.
"""

import time
from collections.abc import Callable, Generator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from quire.session import Calling, Hook, Requested, hook, price_of
from quire.tokens import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "quire_request_seconds",
            "Requests by route and status, and how long they took; streams until they were closed.",
            ("route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._models = self._histogram("model", "Requests to models, by the name of the error if they failed")
        self._tools = self._histogram("tool", "Calls of tools, by the name of the error if they failed")
        self._tokens = self._counter("quire_tokens", "Tokens that models reported.", "model", "kind")
        self._cost = self._counter("quire_cost_usd", "The price of requests, where it is known.", "model")

    def hooks(self) -> list[Hook]:
        """Hooks that count what models and tools do."""
        return [hook(Requested)(self._requested), hook(Calling)(self._calling)]

    def _histogram(self, subject: str, about: str) -> Histogram:
        description = f"{about}, and how long they took."
        labels, name = (subject, "fault"), f"quire_{subject}_seconds"
        return Histogram(name, description, labels, buckets=_SECONDS, registry=self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self._registry)

    def _requested(self, event: Requested) -> None:
        self._models.labels(event.model, event.fault or "").observe(event.seconds)
        usage = event.answer.usage or Usage()
        for kind in usage.__struct_fields__:
            self._tokens.labels(event.model, kind).inc(getattr(usage, kind))
        self._cost.labels(event.model).inc(price_of(usage, event.model, {}) or 0.0)

    def _calling(self, event: Calling) -> Generator[None, Any, None]:
        began = time.perf_counter()
        outcome = yield
        fault = "forgotten" if outcome is None else outcome.fault or ""
        self._tools.labels(event.name, fault).observe(time.perf_counter() - began)

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Add a metric that is read on each scrape."""
        Gauge(name, help, registry=self._registry).set_function(read)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self._registry)
