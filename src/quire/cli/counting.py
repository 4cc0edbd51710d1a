"""Tokens of a history by kind of item."""

from typing import Any

from quire.cli import formats
from quire.cli.files import History
from quire.errors import InvalidValue
from quire.items import Item, Message, kind_of
from quire.tokens import counter_for, schema_tokens


def counted(history: History, source: str | None, model: str) -> dict[str, Any]:
    """Items and tokens of each kind, and of all as one request."""
    counter = counter_for(model)
    items = read_items(history, source)
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


def read_items(history: History, source: str | None, model: str | None = None) -> list[Item]:
    """The items of a history, of which there must be some: a wrong format may read as nothing at all."""
    items = formats.read(history.payload, formats.guessed(history.payload, source), model)
    if not items:
        where = "" if history.line is None else f"line {history.line}: "
        raise InvalidValue(f"{where}no messages were found; is the format right?")
    return items


def _add(kinds: dict[str, tuple[int, int]], name: str, items: int, tokens: int) -> None:
    before = kinds.get(name, (0, 0))
    kinds[name] = (before[0] + items, before[1] + tokens)


def _name(item: Item) -> str:
    kind = kind_of(item).replace("_", " ")
    return f"{item.role} {kind}" if isinstance(item, Message) else kind
