"""Anthropic Messages: marks for the prompt cache, on copies of what is marked."""

from typing import Any, NamedTuple

import msgspec

from quire.providers.anthropic.tooling import marked
from quire.providers.caching import CachePlan
from quire.providers.sheet import Json

_CACHEABLE = frozenset(("text", "image", "document", "tool_use", "tool_result"))
_MOST = 4  # marks of a request
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

    Blocks are replaced by marked ones in lists of the payload's own. All marks that are left go to the
    messages: an entry is only found if it ends at most twenty blocks before a mark.
    """
    control: Json = {"type": "ephemeral"}
    if plan.keep == "long":
        control["ttl"] = "1h"
    gauge, left = _Gauge(minimum), _MOST
    tools: list[Json] = payload.get("tools", [])
    if tools and gauge.reaches(len(msgspec.json.encode(tools, enc_hook=repr))):
        payload["tools"] = marked(tools, control)
        left -= 1
    instructions: list[Json] = payload.get("system", [])
    if system and gauge.reaches(*map(_size, instructions[:system])):
        last = {**instructions[system - 1], "cache_control": control}
        payload["system"] = [*instructions[: system - 1], last, *instructions[system:]]
        left -= 1
    messages: list[Json] = payload["messages"]
    for place in sorted(_ends(messages, end, left)):
        if gauge.holds(messages, place):
            _put(messages, place, control)


class _Gauge:
    """Whether a prefix is long enough; estimated, and only as far as needed."""

    def __init__(self, minimum: int) -> None:
        self._missing = minimum * _CHARACTERS
        self._next = 0  # the first message that was not looked at

    def reaches(self, *sizes: int) -> bool:
        self._missing -= sum(sizes)
        return self._missing <= 0

    def holds(self, messages: list[Json], end: End) -> bool:
        """Whether what comes up to a place is long enough; places are asked for in their order."""
        while self._missing > 0 and self._next < end.message:
            self._missing -= sum(map(_size, messages[self._next]["content"]))
            self._next += 1
        if self._missing <= 0:
            return True
        last: list[Json] = messages[end.message]["content"] if self._next <= end.message else []
        return self._missing <= sum(map(_size, last[: end.block + 1]))


def _ends(messages: list[Json], end: End | None, most: int) -> list[End]:
    """Where marks go: at the end, where the request before this one ended, and on the way back from the end.

    Of a turn with many calls that end is out of reach, and nothing on the way to it was ever in a cache.
    """
    if end is None:
        return []
    wanted: list[End | None] = [end]
    if _back(messages, end, _LOOKBACK):
        before = _asked_before(messages, end)
        wanted += [before if before and not _reaches(messages, end, before) else None]
        wanted += [_back(messages, end, _STRIDE * step) for step in range(1, most)]
    found = [_cacheable(messages, place) for place in wanted if place is not None]
    return [place for place in dict.fromkeys(found) if place is not None][:most]


def _asked_before(messages: list[Json], end: End) -> End | None:
    """The end of what the model answered last: there the request before this one ended."""
    at = end.message
    while at >= 0 and messages[at]["role"] != "assistant":
        at -= 1
    return End(at - 1, len(messages[at - 1]["content"]) - 1) if at > 0 else None


def _reaches(messages: list[Json], end: End, before: End) -> bool:
    """Whether an entry that ends at a place is found from another."""
    furthest = _back(messages, end, _LOOKBACK - 1)
    return furthest is None or furthest <= before


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
