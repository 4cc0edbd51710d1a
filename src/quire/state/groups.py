"""Groups: a call, its results, its reasoning and the reply that opened it stand or fall together.

The rules for what joins what are here alone. A transcript applies them as items arrive; `groups` applies them
to any sequence.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from quire.errors import WrongType
from quire.items import (
    EDITS,
    KINDS,
    Edit,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)
from quire.state.log import Log

_NEVER_SHOWN = (Hide, Mask, Pin, Undo)

OpenCall = tuple[int, int, ToolCall]
"""The position of a call, the head of its group, and the call."""

MERGED = "quire.merged"
"""The key of `extras` that marks a merged item; the value is the same for all items of its group."""


class Group(NamedTuple):
    """Items that stand or fall together."""

    items: tuple[Item, ...]

    @property
    def pending(self) -> bool:
        """Whether a call in it still waits for its result."""
        return bool(pending_calls(self.items))


def checked_items(items: Iterable[Item]) -> list[Item]:
    """The items as a list, or `WrongType`."""
    if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected several items, not {type(items).__name__}")
    row = list(items)
    for kind in set(map(type, row)) - KINDS:
        raise WrongType(f"expected items, not {kind.__name__}")
    return row


def is_output(item: Item) -> bool:
    """Whether a model made the item as part of a reply."""
    if type(item) is Message:
        return item.role == "assistant"
    return type(item) is ToolCall or type(item) is Reasoning


def is_edit(item: Item) -> TypeGuard[Edit]:
    """Whether an item changes what is shown; a summary without spans is content."""
    return type(item) in EDITS and not (isinstance(item, Summary) and not item.spans)


def merge_of(item: Item) -> object:
    """The mark of a merged item; `None` for others."""
    return item.extras.get(MERGED) if item.extras else None


class Reply:
    """The model's output at the end of a sequence, as far as it decides whether the next item joins it."""

    __slots__ = ("agent_id", "called", "head", "merge", "spoke")

    def __init__(self) -> None:
        self.head = -1  # the position of its first item; below zero where there is no reply to join
        self.agent_id: str | None = None
        self.merge: object = None
        self.spoke = False  # holds a message
        self.called = False  # holds a call

    def copy(self) -> "Reply":
        """The same reply, to grow on its own."""
        twin = Reply()
        twin.head, twin.agent_id, twin.merge = self.head, self.agent_id, self.merge
        twin.spoke, twin.called = self.spoke, self.called
        return twin

    def join(self, output: Item, position: int) -> int:
        """The head of the group of the next output: this reply, or the output itself where it begins one.

        Calls join a message before them. A message or reasoning after a plain message begins a new reply, and
        so does the output of another agent or of another merge.
        """
        kind = type(output)
        is_new_message = self.spoke and not self.called and kind is not ToolCall
        merge = merge_of(output)
        if self.head < 0 or is_new_message or output.agent_id != self.agent_id or merge != self.merge:
            self.head, self.agent_id, self.merge = position, output.agent_id, merge
            self.spoke = self.called = False
        if kind is ToolCall:
            self.called = True
        elif kind is Message:
            self.spoke = True
        return self.head


def answered(calls: Sequence[ToolCall], result: ToolResult, replies: Sequence[int] = ()) -> int:
    """The index of the open call that a result answers, or -1; `replies` says of which reply each call is.

    All calls have the id of the result: some providers repeat ids in every reply, and a child may use the ids
    of its parent. A merged result answers a call of its own merge, or the very call that it answered in the
    child. Otherwise a call of the same merge comes first, then one with the same name, then one of the latest
    reply, then the earliest, because results come in the order of their calls.
    """
    mark = merge_of(result)

    def fitness(index: int) -> tuple[bool, bool, int, int]:
        call = calls[index]
        return merge_of(call) == mark, call.name == result.name, replies[index] if replies else 0, -index

    able = [i for i, call in enumerate(calls) if mark is None or mark in (merge_of(call), call.id)]
    return max(able, key=fitness, default=-1)


class OpenCalls:
    """The calls that wait for their results, by call id, each with its position and the head of its group."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[OpenCall, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def copy(self) -> "OpenCalls":
        """The same calls, to be answered elsewhere."""
        twin = OpenCalls()
        twin._by_id = self._by_id.copy()
        return twin

    def positions(self) -> tuple[int, ...]:
        """The positions of the calls, in order."""
        return tuple(sorted(position for calls in self._by_id.values() for position, _, _ in calls))

    def add(self, call: ToolCall, position: int, head: int) -> None:
        """Add a call that was made."""
        earlier = self._by_id.get(call.call_id)
        added = (position, head, call)
        self._by_id[call.call_id] = (added,) if earlier is None else (*earlier, added)

    def answer(self, result: ToolResult, head: int | None = None) -> OpenCall | None:
        """Close the call that a result answers, and return it; with `head`, only a call of that group."""
        waiting = self._by_id.get(result.call_id, ())
        if len(waiting) == 1 and head is None and not result.extras:  # the common case
            return self._by_id.pop(result.call_id)[0]
        able = waiting if head is None else [call for call in waiting if call[1] == head]
        index = answered([call for _, _, call in able], result, [head for _, head, _ in able])
        if index < 0:
            return None
        rest = tuple(call for call in waiting if call is not able[index])
        if rest:
            self._by_id[result.call_id] = rest
        else:
            del self._by_id[result.call_id]
        return able[index]


def open_calls_at(log: Log, end: int) -> tuple[int, ...]:
    """The positions of the calls that waited at an earlier revision."""
    calls = OpenCalls()
    for position, item in enumerate(log.items(0, end)):
        if isinstance(item, ToolCall):
            calls.add(item, position, log.head(position))
        elif isinstance(item, ToolResult) and log.head(position) != position:
            calls.answer(item, log.head(position))
    return calls.positions()


class Answers:
    """What answers what in a sequence of items, found as they are taken one by one."""

    __slots__ = ("_reply", "call_of", "heads", "open_calls")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.call_of: dict[int, int] = {}  # for results, by index: the call that each answers
        self.heads: list[int] = []  # for each item the index of the first of its group
        self.open_calls = OpenCalls()
        self._reply = Reply()
        for item in items:
            self.take(item)

    def take(self, item: Item) -> None:
        """Find the group of the next item."""
        index = head = len(self.heads)
        if is_output(item):
            head = self._reply.join(item, index)
        elif not isinstance(item, _NEVER_SHOWN):  # these do not come between two outputs
            self._reply.head = -1
        if isinstance(item, ToolCall):
            self.open_calls.add(item, index, head)
        elif isinstance(item, ToolResult) and (call := self.open_calls.answer(item)) is not None:
            self.call_of[index], head, _ = call
        self.heads.append(head)


def answers(items: Iterable[Item]) -> tuple[dict[int, int], list[int]]:
    """For results, by index, the call that each answers; and the calls that still wait."""
    found = Answers(items)
    return found.call_of, list(found.open_calls.positions())


def groups(items: Iterable[Item]) -> list[Group]:
    """Any sequence of items in the smallest pieces that may be dropped or moved."""
    row = checked_items(items)
    members: dict[int, list[Item]] = {}
    for head, item in zip(Answers(row).heads, row, strict=True):
        members.setdefault(head, []).append(item)
    return [Group(tuple(found)) for found in members.values()]


def pending_calls(items: Iterable[Item]) -> list[ToolCall]:
    """Calls without a result after them."""
    row = checked_items(items)
    calls = (row[position] for position in answers(row)[1])
    return [call for call in calls if isinstance(call, ToolCall)]
