"""Anthropic Messages: marks for the prompt cache, on copies of what is marked."""

from typing import Any, NamedTuple

import msgspec

from quire.providers.rules import ANTHROPIC_BREAKPOINTS
from quire.providers.types import CachePlan
from quire.providers.values import Json

_CACHEABLE = frozenset(("text", "image", "document", "tool_use", "tool_result"))
_LOOKBACK = 20  # blocks before a mark among which an older entry is found
_STRIDE = 15
_CHARACTERS = 2  # a token has at least as many: a prefix that is shorter by this is surely too short
_MEDIA_SIZE = 10_000  # characters that stand for media


class End(NamedTuple):
    """The last block of a stretch: a message and a block in it."""

    message: int
    block: int


def mark(payload: dict[str, Any], end: End | None, system: int, plan: CachePlan, minimum: int) -> None:
    """Mark the last tool, the last of `system` blocks of instructions, and the end of the slow part.

    Marked blocks are copies, in lists of the payload's own. All marks that are left go to the messages: an
    entry is found only if it ends at most twenty blocks before a mark.
    """
    control: Json = {"type": "ephemeral"}
    if plan.keep == "long":
        control["ttl"] = "1h"
    gauge, left = _Gauge(minimum), ANTHROPIC_BREAKPOINTS.accepted
    tools = [_unmarked(tool) for tool in payload.get("tools", [])]  # the plan says where marks are
    if tools:
        payload["tools"] = tools
    if tools and gauge.reaches(len(msgspec.json.encode(tools, enc_hook=repr))):
        payload["tools"] = _mark_tools(tools, control)
        left -= 1
    instructions: list[Json] = payload.get("system", [])
    if system and gauge.reaches(*map(_size, instructions[:system])):
        last = {**instructions[system - 1], "cache_control": control}
        payload["system"] = [*instructions[: system - 1], last, *instructions[system:]]
        left -= 1
    messages: list[Json] = payload["messages"]
    for place in sorted(_ends(messages, end, left)):
        if gauge.holds(messages, place):
            _mark_block(messages, place, control)


def _unmarked(tool: Json) -> Json:
    if "cache_control" not in tool:
        return tool
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _mark_tools(tools: list[Json], control: Json) -> list[Json]:
    """The tools with a mark on the last that can have one: those that are loaded later cannot."""
    at = next((at for at in range(len(tools) - 1, -1, -1) if not tools[at].get("defer_loading")), None)
    return tools if at is None else [*tools[:at], {**tools[at], "cache_control": control}, *tools[at + 1 :]]


class _Gauge:
    """Whether a prefix is long enough to be cached; estimated, and only as far as needed."""

    def __init__(self, minimum: int) -> None:
        self._missing = minimum * _CHARACTERS
        self._next = 0  # the first message that was not counted

    def reaches(self, *sizes: int) -> bool:
        self._missing -= sum(sizes)
        return self._missing <= 0

    def holds(self, messages: list[Json], end: End) -> bool:
        """Whether the prefix up to a place is long enough; places are asked for in their order."""
        while self._missing > 0 and self._next < end.message:
            self._missing -= sum(map(_size, messages[self._next]["content"]))
            self._next += 1
        if self._missing <= 0:
            return True
        last: list[Json] = messages[end.message]["content"] if self._next <= end.message else []
        return self._missing <= sum(map(_size, last[: end.block + 1]))


def _ends(messages: list[Json], end: End | None, most: int) -> list[End]:
    """Where marks go: at the end, where the request before this one ended, and on the way back from the end.

    In a turn with many calls that earlier end is out of reach, and nothing on the way to it was ever cached.
    """
    if end is None:
        return []
    wanted: list[End | None] = [end]
    if _back(messages, end, _LOOKBACK):
        before = _previous_end(messages, end)
        furthest = _back(messages, end, _LOOKBACK - 1)
        is_found = before is None or furthest is None or furthest <= before
        wanted += [None if is_found else before]
        wanted += [_back(messages, end, _STRIDE * step) for step in range(1, most)]
    found = [_cacheable(messages, place) for place in wanted if place is not None]
    return [place for place in dict.fromkeys(found) if place is not None][:most]


def _previous_end(messages: list[Json], end: End) -> End | None:
    """The end of the request before this one: what the model answered last."""
    at = end.message
    while at >= 0 and messages[at]["role"] != "assistant":
        at -= 1
    return End(at - 1, len(messages[at - 1]["content"]) - 1) if at > 0 else None


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


def _mark_block(messages: list[Json], place: End, control: Json) -> None:
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
    return len(msgspec.json.encode(block["input"])) if "input" in block else _MEDIA_SIZE
