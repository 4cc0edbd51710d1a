"""Selection: predicates over items, joined with `&`, `|` and `~`; and the configuration in force."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from quire.errors import InvalidValue, OutOfRange, UnknownId, WrongType, cut
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
from quire.state.log import EDIT
from quire.state.view import View, checked_view
from quire.tokens import named


class Where:
    """A predicate over one item."""

    __slots__ = ("_test",)

    def __init__(self, test: Callable[[Item], bool]) -> None:
        if not callable(test):
            raise WrongType(f"expected a function of an item, not {type(test).__name__}")
        self._test = test

    def __call__(self, item: Item) -> bool:
        return self._test(item)

    def __and__(self, other: Callable[[Item], bool]) -> "Where":
        also = Where(other)
        return Where(lambda item: self(item) and also(item))

    def __or__(self, other: Callable[[Item], bool]) -> "Where":
        also = Where(other)
        return Where(lambda item: self(item) or also(item))

    def __invert__(self) -> "Where":
        return Where(lambda item: not self(item))


def select(items: Iterable[Item], keep: Callable[[Item], bool]) -> list[Item]:
    """The items for which `keep` is true, in their order."""
    return list(filter(Where(keep), checked_items(items)))


def by_role(*roles: str) -> Where:
    """Messages in one of these roles."""
    for role in roles:
        if named(role, "a role") not in ROLES:
            raise InvalidValue(f"there is no role {cut(role)!r}; there are {', '.join(sorted(ROLES))}")
    return Where(lambda item: isinstance(item, Message) and item.role in roles)


def of_kind(*kinds: type[Item]) -> Where:
    """Items of one of these kinds."""
    if not KINDS.issuperset(kinds):
        raise WrongType("a kind of item is a class, such as Message")
    return Where(lambda item: isinstance(item, kinds))


def by_agent(*agent_ids: str | None) -> Where:
    """Items of one of these agents."""
    return Where(lambda item: item.agent_id in agent_ids)


def using_tool(*names: str) -> Where:
    """Calls of one of these tools, and their results."""
    for name in names:
        named(name, "the name of a tool")
    return Where(lambda item: isinstance(item, ToolCall | ToolResult) and item.name in names)


def _is_empty(item: Item) -> bool:
    if isinstance(item, Message | ToolResult):
        return all(isinstance(part, str) and not part.strip() for part in item.parts)
    return isinstance(item, Reasoning) and not item.text.strip() and item.state is None


empty = Where(_is_empty)
"""Messages, results and reasoning with nothing in them."""

instructions = by_role("system", "developer")
"""Messages of the system and of the developer."""

structural = instructions | of_kind(ConfigChange, Handoff, Summary)
"""What gives a conversation its frame: instructions, configuration, handoffs, summaries."""

tool_traffic = of_kind(ToolCall, ToolResult)
"""Calls and results."""


class Config(NamedTuple):
    """The instructions of a model and the names of its tools; `None` where none were set."""

    instructions: str | None = None
    tools: tuple[str, ...] | None = None


def config_at(view: View, target: str | int | None = None) -> Config:
    """The configuration after an item, given by its id or its index in the view; by default at the end.

    The log decides, not the view: an edit does not change what was in force.
    """
    end = _end_of(checked_view(view), target)
    config = Config()
    for position in view.log.positions("marks", 0, end):
        item = view.log.item(position)
        if isinstance(item, ConfigChange):
            said = config.instructions if item.instructions is None else item.instructions
            config = Config(said, config.tools if item.tools is None else item.tools)
        elif isinstance(item, Message):
            config = config._replace(instructions=item.text)
    return config


def _end_of(view: View, target: str | int | None) -> int:
    """The position after an item."""
    if target is None:
        return view.end
    if isinstance(target, int):
        if not 0 <= target < len(view):
            raise OutOfRange(f"the view has {len(view)} items; there is none at {target}")
        return view.position_at(target) + 1
    position = view.position(target)
    if view.log.head(position) == EDIT:
        raise UnknownId(f"{cut(target)!r} is an edit; it has no place among the items")
    return position + 1
