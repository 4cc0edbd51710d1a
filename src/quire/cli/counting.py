"""Tokens of a history by kind of item."""

from typing import Any

from quire.cli import formats
from quire.cli.files import History
from quire.items import Item, Message, kind_of
from quire.tokens import counter_for, schema_tokens


def counted(history: History, source: str | None, model: str) -> dict[str, Any]:
    """Items and tokens of each kind, and of all as one request."""
    counter = counter_for(model)
    items = formats.read(history.payload, formats.guessed(history.payload, source))
    kinds: dict[str, tuple[int, int]] = {}
    total = 0
    for item in items:
        tokens = counter.count(item)
        total += tokens
        _add(kinds, _name(item), 1, tokens)
    tools = formats.tools_of(history.payload)
    if tools:
        tokens = schema_tokens(tools, counter)
        total += tokens
        _add(kinds, "tool definition", len(tools), tokens)
    found = {"line": history.line, "model": model, "counter": counter.key, "items": len(items)}
    return {**found, "kinds": kinds, "tokens": counter.total(total)}


def _add(kinds: dict[str, tuple[int, int]], name: str, items: int, tokens: int) -> None:
    before = kinds.get(name, (0, 0))
    kinds[name] = (before[0] + items, before[1] + tokens)


def _name(item: Item) -> str:
    kind = kind_of(item).replace("_", " ")
    return f"{item.role} {kind}" if isinstance(item, Message) else kind
