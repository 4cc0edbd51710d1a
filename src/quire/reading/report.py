"""The report of a store: what requests cost, what caches served, why they broke, and what was wasted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from quire.errors import QuireError
from quire.items import Item, ToolCall, ToolResult
from quire.session import Comparison, Kept, first_change
from quire.state import View, is_output
from quire.tokens import Definition, read_definition

_LEAST_AGAIN, _LEAST_COST = 500, 0.0001
"""Tokens from which a break of the cache is worth a warning, and USD that are worth a word."""
_EXPLAINED = ("instructions", "tools", "section")
"""The causes that the first changed byte explains."""
_MOST_SCANNED, _ROWS, _EXCERPT = 2_000, 10, 60
_TOOLS_SHARE, _LEAST_REPLIES, _LEAST_TOOLS = 0.4, 10, 1_000
_LEAST_REPEATED = 4
_OVERSIZED = 40_000
"""The size of a result that is worth a warning, in characters."""


# Warnings


def describe_break(before: Kept, kept: Kept, made: Comparison) -> list[str]:
    """Say why a cache did not serve a request, what that cost, and the bytes that caused it; else nothing."""
    if made.cause is None or made.cause.name == "short":
        return []
    is_start = made.cause.name in _EXPLAINED  # what changed there is new, with much that did not
    tokens = min(before.tokens, kept.tokens) - made.tokens if is_start else made.again
    if tokens < _LEAST_AGAIN:
        return []
    cost = f", {made.cost:.4f} USD more" if made.cost and made.cost >= _LEAST_COST else ""
    text = f"cache break: {made.cause.reason}; {tokens:,} tokens were not served{cost}"
    if made.cause.name not in _EXPLAINED:
        return [text]
    try:
        first = first_change(before, kept)
    except QuireError:
        return [text]
    if first is None:
        return [text]
    was, new = (repr(one[:_EXCERPT]) for one in (first.was, first.now))
    return [f"{text}; byte {first.byte:,}, {first.path}: {was} → {new}"]


def find_waste(view: View, tools: Sequence[Definition], schemas: int, tokens: int) -> list[str]:
    """Say what a request spends its window on: tools that nobody calls, calls repeated, oversized results."""
    recent = view[-_MOST_SCANNED:]
    return [*_unused(recent, tools, schemas, tokens), *_repeated(recent), *_oversized(recent)]


def unused_tools(items: Sequence[Item], tools: Sequence[Definition]) -> list[str]:
    """Return the names of tools that were never called."""
    called = {item.name for item in items if isinstance(item, ToolCall)}
    return [name for tool in tools if (name := read_definition(tool)[0]) not in called]


def _unused(items: Sequence[Item], tools: Sequence[Definition], schemas: int, tokens: int) -> Iterator[str]:
    replies = sum(1 for is_reply, _ in groupby(items, is_output) if is_reply)
    if schemas < max(_TOOLS_SHARE * tokens, _LEAST_TOOLS) or replies < _LEAST_REPLIES:
        return
    if names := unused_tools(items, tools):
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield f"tools take {schemas / tokens:.0%} of the request, and these were never called: {listed}"


def _repeated(items: Sequence[Item]) -> Iterator[str]:
    calls = Counter((item.name, item.arguments) for item in items if isinstance(item, ToolCall))
    for (name, arguments), times in calls.most_common():
        if times < _LEAST_REPEATED:
            return
        if times & (times - 1) == 0:  # at 4, 8, 16 …: it is said again where it goes on
            yield f"{name} was called {times} times with the same arguments: {arguments[:_EXCERPT]}"


def _oversized(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, ToolResult) and (size := len(item.text)) >= _OVERSIZED:
            yield f"a result of {item.name} has {size:,} characters"
