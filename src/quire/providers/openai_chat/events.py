"""Chat Completions: the events of a client, which says more than what came over the wire.

`client.chat.completions.stream` hands on each chunk in an event of its own, and beside it what it makes of
the chunks so far: the words again, and calls that are done.
"""

from collections.abc import Mapping
from typing import Any, cast

_BESIDE = ("content.", "refusal.", "logprobs.", "tool_calls.")


def told_by(event: Any) -> Any | None:
    """What the wire said by an event of a client; `None` for what the client says beside it, by itself."""
    kind = _held(event, "type")
    if kind == "chunk":
        chunk = _held(event, "chunk")
        return event if chunk is None else chunk
    return None if isinstance(kind, str) and kind.startswith(_BESIDE) else event


def _held(event: object, name: str) -> Any:
    """A field of an event, which is JSON or an object of the client's."""
    return cast("Any", event).get(name) if isinstance(event, Mapping) else getattr(event, name, None)
