"""The words by which items are found and quoted again."""

from collections.abc import Sequence

from quire.compactors import part_text
from quire.items import Item, Message, Note, Summary, ToolCall, ToolResult
from quire.memory.leaf import Kind
from quire.tokens import note_text

RECALLING = frozenset(("recall", "search_knowledge"))
"""The names of the tools by which a model asks for what is remembered."""

_SPEAKERS = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def kind_of_group(items: Sequence[Item]) -> Kind | None:
    """What a group is to recall; nothing where it has no words to be found by."""
    kinds = set(map(type, items))
    if kinds & {ToolCall, ToolResult}:
        return None if _only_recalls(items) else "done"
    if Summary in kinds:
        return "summary"
    if Note in kinds:
        return "note"
    said = [item for item in items if isinstance(item, Message)]
    return "said" if any(one.role in ("user", "assistant") for one in said) else None


def _only_recalls(items: Sequence[Item]) -> bool:
    """Whether all that was done was to look for what is here already: an echo would be found before it."""
    return all(item.name in RECALLING for item in items if isinstance(item, ToolCall | ToolResult))


def speaker_of(items: Sequence[Item]) -> str:
    """Who said or did it: the agent or the person by name, or else by role."""
    for item in items:
        if item.agent_id:
            return item.agent_id
    first = items[0]
    if isinstance(first, Summary):
        return "summary"
    return _SPEAKERS[first.role] if isinstance(first, Message) else "assistant"


def words_of(items: Sequence[Item]) -> str:
    """A group in words, one line or more for each item that has some."""
    return "\n".join(filter(None, map(_words, items)))


def _words(item: Item) -> str:
    match item:
        case Message():
            return "\n".join(map(part_text, item.parts))
        case ToolCall():
            return f"[called {item.name} with {item.arguments}]"
        case ToolResult():
            said = "failed with" if item.is_error else "gave"
            return f"[{item.name} {said}] " + "\n".join(map(part_text, item.parts))
        case Summary():
            return item.text
        case Note():
            return "\n".join(filter(None, (item.description, note_text(item.content))))
        case _:
            return ""
