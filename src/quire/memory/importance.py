"""How much something matters, where nobody said so: told from its kind."""

from collections.abc import Sequence

from quire.items import ConfigChange, Handoff, Item, Message, Note, Reasoning, Summary, ToolCall, ToolResult

IMPORTANCE = "importance"
"""The key of `extras` under which an item says how much it matters, from 0 to 1."""

_ERROR, _PLAN, _RESULT, _CALL, _ASKED, _SAID, _THOUGHT = 0.9, 0.8, 0.75, 0.7, 0.65, 0.5, 0.45


def importance_of(items: Sequence[Item]) -> float:
    """How much a group matters: as much as the item in it that matters most."""
    return max(map(_importance, items), default=0.0)


def _importance(item: Item) -> float:
    given = item.extras.get(IMPORTANCE) if item.extras else None
    if isinstance(given, int | float) and not isinstance(given, bool):
        return min(max(float(given), 0.0), 1.0)
    return _judged(item)


def _judged(item: Item) -> float:
    match item:
        case ToolResult():
            return _ERROR if item.is_error else _RESULT
        case Summary() | Note() | Handoff() | ConfigChange():
            return _PLAN
        case ToolCall():
            return _CALL
        case Message(role="user"):
            return _ASKED
        case Message():
            return _SAID
        case Reasoning():
            return _THOUGHT
        case _:
            return 0.0
