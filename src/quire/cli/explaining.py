"""Items in words: which one is meant, what it is called, and what became of it."""

from collections.abc import Iterable, Sequence

from quire.context import Entry
from quire.errors import UnknownId, cut
from quire.items import JSON, Item, Message, Reasoning, Summary, ToolCall, ToolResult, kind_of, parts_of
from quire.tokens import Counter

_MOST_NAMED = 5


def meant(items: Sequence[Item], asked: str) -> int:
    """The number of the item that is asked for, by its id or its number: from 1, or from -1 at the end."""
    for number, item in enumerate(items, 1):
        if item.id == asked:
            return number
    try:
        number = int(asked)
    except ValueError:
        raise UnknownId(
            f"no item {cut(asked)!r} in the history; it has items 1 to {len(items)}, and -1 is the last"
        ) from None
    if not 1 <= abs(number) <= len(items):
        raise UnknownId(f"no item {number} in the history; it has items 1 to {len(items)}")
    return number if number > 0 else len(items) + number + 1


def called(item: Item) -> str:
    """An item's kind in words, with the role of a message; never what it says."""
    kind = kind_of(item).replace("_", " ")
    return f"{item.role} {kind}" if isinstance(item, Message) else kind


def named_parts(items: Iterable[Item], ids: Sequence[str], counter: Counter) -> str:
    """What an error is about, the largest first, with their tokens."""
    wanted = set(ids)
    sizes = [(counter.count(item), item) for item in items if item.id in wanted]
    sizes.sort(key=lambda sized: -sized[0])
    told = [f"item {cut(item.id)!r} ({called(item)}) {size:,}" for size, item in sizes[:_MOST_NAMED]]
    more = len(sizes) - _MOST_NAMED
    return ", ".join((*told, f"and {more:,} more") if more > 0 else told)


def rows(entry: Entry, number: int, item: Item, policy: str | None) -> list[tuple[str, str]]:
    """What became of an item, line by line."""
    found = [
        ("item", f"{number:,}" if entry.item_id == str(number) else f"{number:,}, id {cut(entry.item_id)!r}"),
        ("kind", called(item)),
        ("fate", entry.fate),
        ("rule", entry.rule),
        ("section", entry.section),
        ("tokens", f"{entry.tokens:,}"),
        ("reason", entry.reason),
    ]
    return found if policy is None else [*found, ("policy", policy)]


def content_of(item: Item) -> str:
    """What an item says, for people to read: media by their kind, and what has no words as JSON."""
    match item:
        case Message() | ToolResult():
            parts = parts_of(item.content)
            return "\n".join(p if isinstance(p, str) else f"[{type(p).__name__.lower()}]" for p in parts)
        case ToolCall():
            return f"{item.name} {item.arguments}"
        case Reasoning() | Summary():
            return item.text
        case _:
            return JSON.encode_item(item).decode()
