"""Anthropic Messages: marks for the prompt cache, on copies of what is marked."""

from typing import Any, NamedTuple

import msgspec

from quire.providers.caching import CachePlan
from quire.providers.sheet import Json

_CACHEABLE = frozenset(("text", "image", "document", "tool_use", "tool_result"))
_LOOKBACK = 20  # blocks before a mark among which an older entry is found
_STRIDE = 15
_CHARACTERS = 2  # for a token, at least: whatever is shorter by this is surely too short to be cached
_PICTURE = 10_000  # characters for what is no text


class End(NamedTuple):
    """The last block of a stretch: a message and a block in it."""

    message: int
    block: int


def mark(payload: dict[str, Any], end: End | None, system: int, plan: CachePlan, minimum: int) -> None:
    """Mark the last tool, the last of so many blocks of `system`, and the end of what only grows.

    Blocks are replaced by marked ones in lists of the payload's own. A long stretch has a mark in the middle
    too: an entry is only found if it ends at most twenty blocks before a mark.
    """
    control: Json = {"type": "ephemeral"}
    if plan.keep == "long":
        control["ttl"] = "1h"
    gauge = _Gauge(minimum)
    tools: list[Json] = payload.get("tools", [])
    if tools and gauge.reaches(len(msgspec.json.encode(tools, enc_hook=repr))):
        payload["tools"] = [*tools[:-1], {**tools[-1], "cache_control": control}]
    instructions: list[Json] = payload.get("system", [])
    if system and gauge.reaches(*map(_size, instructions[:system])):
        marked = {**instructions[system - 1], "cache_control": control}
        payload["system"] = [*instructions[: system - 1], marked, *instructions[system:]]
    messages: list[Json] = payload["messages"]
    for place in _ends(messages, end):
        if gauge.holds(messages, place):
            _put(messages, place, control)


class _Gauge:
    """Whether a prefix is long enough; estimated, and only as far as needed."""

    def __init__(self, minimum: int) -> None:
        self._missing = minimum * _CHARACTERS

    def reaches(self, *sizes: int) -> bool:
        self._missing -= sum(sizes)
        return self._missing <= 0

    def holds(self, messages: list[Json], end: End) -> bool:
        missing = self._missing
        for index in range(end.message + 1):
            if missing <= 0:
                break
            content = messages[index]["content"]
            missing -= sum(map(_size, content[: end.block + 1] if index == end.message else content))
        return missing <= 0


def _ends(messages: list[Json], end: End | None) -> list[End]:
    if end is None:
        return []
    last = _cacheable(messages, end)
    middle = _back(messages, end, _STRIDE) if _back(messages, end, _LOOKBACK) else None
    between = _cacheable(messages, middle) if middle else None
    return [place for place in dict.fromkeys((between, last)) if place is not None]


def _back(messages: list[Json], end: End, blocks: int) -> End | None:
    """The place so many blocks before another."""
    message, block = end
    while block < blocks:
        blocks -= block + 1
        message -= 1
        if message < 0:
            return None
        block = len(messages[message]["content"]) - 1
    return End(message, block - blocks)


def _cacheable(messages: list[Json], end: End) -> End | None:
    """The last block at or before a place that may carry a mark: thinking may not."""
    place: End | None = end
    while place is not None and messages[place.message]["content"][place.block]["type"] not in _CACHEABLE:
        place = _back(messages, place, 1)
    return place


def _put(messages: list[Json], place: End, control: Json) -> None:
    message = messages[place.message]
    content = message["content"].copy()
    content[place.block] = {**content[place.block], "cache_control": control}
    messages[place.message] = {**message, "content": content}


def _size(block: Json) -> int:
    text: Any = block.get("text") or block.get("thinking") or block.get("content") or ""
    if isinstance(text, list):
        return sum(_size(part) for part in text)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(text, str) and text:
        return len(text) if text.isascii() else 4 * len(text)
    return len(msgspec.json.encode(block["input"])) if "input" in block else _PICTURE
