"""Anthropic Messages: how many bytes a request has, and how many it may have."""

from typing import Any

import msgspec

from quire.providers.json_values import entries_in, fields_in

HEAVY = 8_000_000
"""Bytes of media from which on a request is weighed: words alone exceed any window before they get near."""

_WORTH = 100_000  # bytes from which on leaving out what a tool of the provider gave makes a difference

_encode = msgspec.json.Encoder().encode


def weight_of(block: Any) -> int:
    """Bytes that a block of media has in the request itself, and not behind an address."""
    source = fields_in(fields_in(block).get("source"))
    held = source.get("data") or source.get("content")
    return len(held) if isinstance(held, str) else sum(map(_weight_inside, entries_in(held)))


def pictures_in(block: Any) -> list[Any]:
    """The images that a block is, or that a document holds."""
    if fields_in(block).get("type") == "image":
        return [block]
    inner = entries_in(fields_in(fields_in(block).get("source")).get("content"))
    return [part for part in inner if fields_in(part).get("type") == "image"]


def inner_weight(block: Any) -> int:
    """Bytes of the media that a document holds inside."""
    source = fields_in(fields_in(block).get("source"))
    return sum(map(weight_of, entries_in(source.get("content"))))


def kept_weight(block: Any) -> int:
    """Bytes of what a tool of the provider gave, where these are many."""
    kind = fields_in(block).get("type")
    if not isinstance(kind, str) or kind == "tool_result" or not kind.endswith("_tool_result"):
        return 0
    weight = whole_weight(block)
    return weight if weight >= _WORTH else 0


def whole_weight(*values: Any) -> int:
    """Bytes of values as they are sent."""
    return sum(len(_encode(value)) for value in values)


def _weight_inside(block: Any) -> int:
    return len(str(fields_in(block).get("text") or "")) + weight_of(block)
