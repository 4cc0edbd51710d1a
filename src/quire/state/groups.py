"""Groups: a call, its results, its reasoning and the reply that opened it stand or fall together.

The rule for what joins what is here alone. A transcript applies it as items arrive; `groups` applies it to
any sequence.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from quire.items import EDITS, Edit, Item, Message, Reasoning, Summary, ToolCall, ToolResult


class Group(NamedTuple):
    """Items that stand or fall together."""

    items: tuple[Item, ...]

    @property
    def pending(self) -> bool:
        """Whether a call in it still waits for its result."""
        return bool(pending_calls(self.items))


class Reply:
    """The model's output at hand, as far as it decides whether the next item joins it."""

    __slots__ = ("agent_id", "called", "head", "said")

    def __init__(self, head: int, agent_id: str | None) -> None:
        self.head = head
        self.agent_id = agent_id
        self.said = False  # holds a message
        self.called = False  # holds a call

    def copy(self) -> "Reply":
        """The same reply, to grow on its own."""
        twin = Reply(self.head, self.agent_id)
        twin.said, twin.called = self.said, self.called
        return twin

    def takes(self, item: Item) -> bool:
        """Whether an item belongs to this reply.

        Calls join what was said before them. Words and thoughts after plain words begin something new.
        """
        if item.agent_id != self.agent_id:
            return False
        return self.called or not self.said or type(item) is ToolCall

    def add(self, item: Item) -> None:
        """Take note of an item that belongs to this reply."""
        self.said = self.said or type(item) is Message
        self.called = self.called or type(item) is ToolCall


def is_output(item: Item) -> bool:
    """Whether a model made it as part of a reply."""
    kind = type(item)
    return kind is ToolCall or kind is Reasoning or (isinstance(item, Message) and item.role == "assistant")


def is_edit(item: Item) -> TypeGuard[Edit]:
    """Whether an item changes what is shown, rather than being shown where it was recorded."""
    return type(item) in EDITS and not (isinstance(item, Summary) and not item.spans)


def groups(items: Iterable[Item]) -> list[Group]:
    """Any sequence of items in the smallest pieces that may be dropped or moved."""
    members: dict[int, list[Item]] = {}
    waiting: dict[str, list[int]] = {}
    reply: Reply | None = None
    for index, item in enumerate(items):
        head = index
        if is_output(item):
            if reply is None or not reply.takes(item):
                reply = Reply(index, item.agent_id)
            reply.add(item)
            head = reply.head
        else:
            reply = None
        if isinstance(item, ToolCall):
            waiting.setdefault(item.call_id, []).append(head)
        elif isinstance(item, ToolResult) and waiting.get(item.call_id):
            head = waiting[item.call_id].pop(0)
        members.setdefault(head, []).append(item)
    return [Group(tuple(found)) for found in members.values()]


def pending_calls(items: Iterable[Item]) -> list[ToolCall]:
    """Calls without a result after them."""
    waiting: dict[str, list[ToolCall]] = {}
    for item in items:
        if isinstance(item, ToolCall):
            waiting.setdefault(item.call_id, []).append(item)
        elif isinstance(item, ToolResult) and waiting.get(item.call_id):
            waiting[item.call_id].pop(0)
    return [call for calls in waiting.values() for call in calls]


def flat(found: Sequence[Group]) -> list[Item]:
    """The items of groups, one group after the other."""
    return [item for group in found for item in group.items]
