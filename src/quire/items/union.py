"""The union of all kinds: adding one makes the type checker list every place to visit."""

from quire.errors import WrongType
from quire.items.edits import Hide, Mask, Pin, Summary, Undo
from quire.items.kinds import ConfigChange, Handoff, Message, Note, Reasoning, ToolCall, ToolResult
from quire.items.unknown import Unknown

Edit = Summary | Mask | Hide | Pin | Undo
Known = Message | ToolCall | ToolResult | Reasoning | Handoff | ConfigChange | Note | Edit
Item = Known | Unknown

EDITS: frozenset[type] = frozenset((Summary, Mask, Hide, Pin, Undo))
KNOWN: dict[str, type[Known]] = {
    "message": Message,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "reasoning": Reasoning,
    "handoff": Handoff,
    "config_change": ConfigChange,
    "note": Note,
    "summary": Summary,
    "mask": Mask,
    "hide": Hide,
    "pin": Pin,
    "undo": Undo,
}
KINDS: frozenset[type] = frozenset((*KNOWN.values(), Unknown))


def kind_of(item: Item) -> str:
    """The name of an item's kind, as it is written."""
    if isinstance(item, Unknown):
        return item.name
    if type(item) not in KINDS:
        raise WrongType(f"an item has a kind, {type(item).__name__} has none")
    return str(type(item).__struct_config__.tag)
