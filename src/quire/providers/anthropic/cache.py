"""Anthropic Messages: breakpoints of the prompt cache (`cache_control`), set on copies of the blocks.

The API allows four breakpoints. We set them on:

- the last tool;
- the last stable system block;
- the last block before the volatile items;
- the last block of the previous request, because the API looks back only 20 blocks from a breakpoint for an
  existing entry.

A breakpoint after a prefix that is too short to be cached has no effect.
"""

from typing import Any, NamedTuple

from quire.providers.types import CachePlan
from quire.providers.values import Json

_UNCACHEABLE = frozenset(("thinking", "redacted_thinking"))


class End(NamedTuple):
    """The end of a stretch: a message, and how many of its blocks belong to the stretch."""

    message: int
    blocks: int


def set_breakpoints(payload: dict[str, Any], system: int, end: End | None, plan: CachePlan) -> None:
    """Set breakpoints on the tools, the first `system` system blocks, and the messages up to `end`."""
    control: Json = {"type": "ephemeral", "ttl": "1h"} if plan.keep == "long" else {"type": "ephemeral"}
    if "tools" in payload:  # the plan decides where breakpoints are
        payload["tools"] = [_without_breakpoint(tool) for tool in payload["tools"]]
        _set_on_last(payload["tools"], len(payload["tools"]), control)
    if system:
        _set_on_last(payload["system"], system, control)
    messages: list[Json] = payload["messages"]
    for place, count in () if end is None else (end, *_previous_end(messages, end)):
        content = messages[place]["content"].copy()
        _set_on_last(content, count, control)
        messages[place] = {**messages[place], "content": content}


def _without_breakpoint(tool: Json) -> Json:
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _set_on_last(blocks: list[Json], count: int, control: Json) -> None:
    """Set a breakpoint on the last block that can have one: not thinking, nor a tool that is loaded later."""
    for place in range(count - 1, -1, -1):
        block = blocks[place]
        if block.get("type") not in _UNCACHEABLE and not block.get("defer_loading"):
            blocks[place] = {**block, "cache_control": control}
            return


def _previous_end(messages: list[Json], end: End) -> list[End]:
    """The last message before the latest assistant message: where the previous request ended."""
    backwards = range(end.message, 0, -1)
    answer = next((at for at in backwards if messages[at]["role"] == "assistant"), None)
    return [] if answer is None else [End(answer - 1, len(messages[answer - 1]["content"]))]
