"""A stream that is fed event by event."""

from collections.abc import Iterable, Mapping
from typing import Any

from quire.providers import Parsed, Provider


def fed(wire: Provider, events: Iterable[Mapping[str, Any]]) -> Parsed:
    """What a wire makes of events of a stream."""
    stream = wire.stream(model="m")
    for event in events:
        stream.feed(event)
    return stream.close()
