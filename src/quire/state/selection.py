"""Choosing items by what they are.

Small questions that can be joined with `&`, `|` and `~`, instead of flags.
"""

from collections.abc import Callable, Iterable

from quire.errors import InvalidValue, WrongType, cut
from quire.items import (
    KINDS,
    ROLES,
    ConfigChange,
    Handoff,
    Item,
    Message,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.state.groups import checked_items
from quire.tokens import named


def checked_question(asks: Callable[[Item], bool]) -> Callable[[Item], bool]:
    """The question, if it can be asked."""
    if not callable(asks):
        raise WrongType(f"expected a question about an item, not {type(asks).__name__}")
    return asks


class Where:
    """A question about one item."""

    __slots__ = ("_asks",)

    def __init__(self, asks: Callable[[Item], bool]) -> None:
        self._asks = checked_question(asks)

    def __call__(self, item: Item) -> bool:
        return self._asks(item)

    def __and__(self, other: Callable[[Item], bool]) -> "Where":
        checked_question(other)
        return Where(lambda item: self(item) and other(item))

    def __or__(self, other: Callable[[Item], bool]) -> "Where":
        checked_question(other)
        return Where(lambda item: self(item) or other(item))

    def __invert__(self) -> "Where":
        return Where(lambda item: not self(item))


def select(items: Iterable[Item], keep: Callable[[Item], bool]) -> list[Item]:
    """The items to which the answer is yes, in their order."""
    checked_question(keep)
    return [item for item in checked_items(items) if keep(item)]


def by_role(*roles: str) -> Where:
    """Messages in one of these roles."""
    for role in roles:
        if named(role, "a role") not in ROLES:
            raise InvalidValue(f"there is no role {cut(role)!r}; there are {', '.join(sorted(ROLES))}")
    return Where(lambda item: isinstance(item, Message) and item.role in roles)


def of_kind(*kinds: type[Item]) -> Where:
    """Items of one of these kinds."""
    for kind in kinds:
        if not isinstance(kind, type) or kind not in KINDS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType("a kind of item is a class, such as Message")
    return Where(lambda item: isinstance(item, kinds))


def by_agent(*agent_ids: str | None) -> Where:
    """Items of one of these agents."""
    for agent_id in agent_ids:
        if agent_id is not None:
            named(agent_id, "the id of an agent")
    return Where(lambda item: item.agent_id in agent_ids)


def using_tool(*names: str) -> Where:
    """Calls of one of these tools, and their results."""
    for name in names:
        named(name, "the name of a tool")
    return Where(lambda item: isinstance(item, ToolCall | ToolResult) and item.name in names)


def _says_nothing(item: Item) -> bool:
    if isinstance(item, Message | ToolResult):
        return all(isinstance(part, str) and not part.strip() for part in item.parts)
    return isinstance(item, Reasoning) and not item.text.strip() and item.state is None


def _is_instruction(item: Item) -> bool:
    return isinstance(item, Message) and item.role in ("system", "developer")


empty = Where(_says_nothing)
"""Messages, results and thoughts with nothing in them."""

instructions = Where(_is_instruction)
"""Messages of the system and of the developer."""

structural = instructions | of_kind(ConfigChange, Handoff, Summary)
"""What gives a conversation its frame: instructions, configuration, handoffs, summaries."""

tool_traffic = of_kind(ToolCall, ToolResult)
"""Calls and results."""
