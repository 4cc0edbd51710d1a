"""Which items a copy takes along."""

from collections.abc import Iterable, Sequence

from quire.bridges.videosdk.tools import names_of
from quire.items import ConfigChange, Handoff, Item, Message, ToolCall, ToolResult
from quire.state import Where, by_agent, by_role, empty, instructions, of_kind

frame = instructions | of_kind(ConfigChange, Handoff)
"""What gives a conversation its frame: instructions, updates and handoffs."""

BETWEEN_TEXTS = " "
"""What stands between the text parts of a message of instructions."""

_everything = Where(lambda item: True)


def chosen(
    *,
    exclude_system_messages: bool,
    exclude_instructions: bool,
    exclude_empty_messages: bool,
    exclude_handoffs: bool,
    exclude_config_updates: bool,
    filter_agent_id: str | None,
) -> Where:
    """The question that the flags of a copy ask of each item."""
    keep = _everything
    for asked, unwanted in (
        (exclude_system_messages, by_role("system")),
        (exclude_instructions, instructions),
        (exclude_empty_messages, of_kind(Message) & empty),
        (exclude_handoffs, of_kind(Handoff)),
        (exclude_config_updates, of_kind(ConfigChange)),
    ):
        if asked:
            keep = keep & ~unwanted
    if filter_agent_id is not None:
        keep = keep & (frame | by_agent(filter_agent_id))
    return keep


def instructions_first(items: Sequence[Item]) -> list[Item]:
    """The items with all instructions at the start.

    An update before an instruction goes with it, so that the last one in force stays in force.
    """
    end = max((at + 1 for at, item in enumerate(items) if instructions(item)), default=0)
    moved = instructions | of_kind(ConfigChange)
    first = [item for item in items[:end] if moved(item)]
    return [*first, *(item for item in items[:end] if not moved(item)), *items[end:]]


def calling(items: Iterable[Item], tools: Iterable[object] | None) -> Where:
    """All but calls of other tools and their outputs; an output goes with its call, whatever its own name."""
    if tools is None:
        return _everything
    names = frozenset(names_of(tools))
    calls = {item.call_id: item.name for item in items if isinstance(item, ToolCall)}

    def wanted(item: Item) -> bool:
        if isinstance(item, ToolResult):
            return calls.get(item.call_id, item.name) in names
        return not isinstance(item, ToolCall) or item.name in names

    return Where(wanted)
