"""Which items a copy takes along."""

from collections.abc import Callable, Iterable, Sequence

from quire.bridges.videosdk.tools import names_of
from quire.items import ConfigChange, Handoff, Item, Message, ToolCall, ToolResult
from quire.state import instructions

Predicate = Callable[[Item], bool]

BETWEEN_TEXTS = " "
"""What stands between the text parts of a message of instructions."""


def frame(item: Item) -> bool:
    """Whether an item is part of the frame: instructions, updates and handoffs."""
    return instructions(item) or isinstance(item, ConfigChange | Handoff)


def chosen(
    *,
    exclude_system_messages: bool,
    exclude_instructions: bool,
    exclude_empty_messages: bool,
    exclude_handoffs: bool,
    exclude_config_updates: bool,
    filter_agent_id: str | None,
) -> Predicate:
    """The question that the flags of a copy ask of each item."""

    def wanted(item: Item) -> bool:
        if isinstance(item, Message):
            excluded = (
                (exclude_system_messages and item.role == "system")
                or (exclude_instructions and instructions(item))
                or (exclude_empty_messages and _is_empty(item))
            )
        else:
            handoff, update = isinstance(item, Handoff), isinstance(item, ConfigChange)
            excluded = (exclude_handoffs and handoff) or (exclude_config_updates and update)
        return not excluded and (frame(item) or filter_agent_id in (None, item.agent_id))

    return wanted


def _is_empty(message: Message) -> bool:
    return all(isinstance(part, str) and not part.strip() for part in message.parts)


def instructions_first(items: Sequence[Item]) -> list[Item]:
    """The items with all instructions at the start.

    An update before an instruction goes with it, so that the last one in force stays in force.
    """
    end = max((at + 1 for at, item in enumerate(items) if instructions(item)), default=0)
    first = [item for item in items[:end] if instructions(item) or isinstance(item, ConfigChange)]
    moved = {item.id for item in first}
    return [*first, *(item for item in items[:end] if item.id not in moved), *items[end:]]


def calling(items: Iterable[Item], tools: Iterable[object] | None) -> Predicate:
    """All but calls of other tools and their outputs; an output goes with its call, whatever its own name."""
    if tools is None:
        return lambda item: True
    names = frozenset(names_of(tools))
    calls = {item.call_id: item.name for item in items if isinstance(item, ToolCall)}

    def wanted(item: Item) -> bool:
        if isinstance(item, ToolResult):
            return calls.get(item.call_id, item.name) in names
        return not isinstance(item, ToolCall) or item.name in names

    return wanted
