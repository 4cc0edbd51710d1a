"""Groups: a call, its results, its reasoning and the reply that opened it stay or go together.

Only this file has the rules of what joins what. A transcript applies them as items arrive; `groups` applies
them to any sequence.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

import msgspec

from quire.errors import WrongType
from quire.items import (
    EDITS,
    KINDS,
    ConfigChange,
    Edit,
    Handoff,
    Item,
    Message,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    new_id,
)

_NEVER_SHOWN = EDITS - {Summary}
_STRUCTURAL = frozenset((ConfigChange, Handoff, Summary))

Output = Message | Reasoning | ToolCall
"""What a model produces; a message is output if its role is assistant."""

OpenCall = tuple[int, int, ToolCall]
"""The position of a call, the head of its group, and the call."""

MERGED = "quire.merged"
"""The key of `extras` that marks a merged item; all items of its group have the same value."""


class Group(NamedTuple):
    """Items that are kept or dropped together."""

    items: tuple[Item, ...]

    @property
    def pending(self) -> bool:
        """Whether a call in it still waits for its result."""
        return bool(pending_calls(self.items))


def checked_items(items: Iterable[Item]) -> list[Item]:
    """The items as a list, or `WrongType`."""
    row = list(items)
    for kind in set(map(type, row)) - KINDS:
        raise WrongType(f"expected items, not {kind.__name__}")
    return row


def is_output(item: Item) -> TypeGuard[Output]:
    """Whether the item is part of a reply of a model."""
    if type(item) is Message:
        return item.role == "assistant"
    return type(item) is ToolCall or type(item) is Reasoning


def is_user_message(item: Item) -> bool:
    """Whether an item is a user message, with which a turn begins."""
    return isinstance(item, Message) and item.role == "user"


def is_instruction(item: Item) -> bool:
    """Whether an item is a message of the system or of the developer."""
    return isinstance(item, Message) and item.role in ("system", "developer")


def is_structural(item: Item) -> bool:
    """Whether an item is part of the frame: instructions, configuration, handoffs, summaries."""
    return type(item) in _STRUCTURAL or is_instruction(item)


def is_edit(item: Item) -> TypeGuard[Edit]:
    """Whether an item changes what is shown; a summary without spans is content."""
    return type(item) in EDITS and not (isinstance(item, Summary) and not item.spans)


def merge_of(item: Item) -> object:
    """The mark of a merged item; `None` for others."""
    return item.extras.get(MERGED) if item.extras else None


class ReplySoFar(NamedTuple):
    """The state of an unfinished reply, which decides whether the next output belongs to it."""

    reply_id: str | None
    agent_id: str | None
    merge: Any
    has_message: bool
    has_call: bool

    def takes(self, output: Output) -> bool:
        """Whether the next output belongs to the reply.

        The reply id decides. Without one, a call joins the message before it, and a message or reasoning
        after a plain message begins a new reply, as does output of another agent or merge.
        """
        if self.reply_id is not None or output.reply_id is not None:
            return output.reply_id == self.reply_id
        is_new = self.has_message and not self.has_call and type(output) is not ToolCall
        return not is_new and output.agent_id == self.agent_id and merge_of(output) == self.merge


def with_output(output: Output, before: ReplySoFar | None = None) -> ReplySoFar:
    """The reply with one more output; without `before` the output begins it."""
    kind = type(output)
    has_message = kind is Message or (before is not None and before.has_message)
    has_call = kind is ToolCall or (before is not None and before.has_call)
    return ReplySoFar(output.reply_id, output.agent_id, merge_of(output), has_message, has_call)


def in_one_reply(items: Iterable[Item]) -> list[Item]:
    """The items of one response, in which outputs without a reply id get a common one."""
    row = list(items)
    outputs = [item for item in row if is_output(item)]
    reply_id = next((output.reply_id for output in outputs if output.reply_id), None) or new_id()
    return [
        msgspec.structs.replace(item, reply_id=reply_id) if is_output(item) and not item.reply_id else item
        for item in row
    ]


def index_of_call(calls: Sequence[ToolCall], result: ToolResult, replies: Sequence[int] = ()) -> int:
    """The index of the call that a result answers, or -1. `calls` are the open calls with its call id.

    `replies[i]` is the group head of `calls[i]`. Several calls share an id because some providers repeat ids
    in every reply, and a child may use the ids of its parent. A merged result answers a call of its own
    merge, or the call that it answered in the child. Otherwise a call of the same merge comes first, then one
    with the same name, then one of the latest reply, then the earliest, because results come in the order of
    their calls.
    """
    mark = merge_of(result)

    def fitness(index: int) -> tuple[bool, bool, int, int]:
        call = calls[index]
        return merge_of(call) == mark, call.name == result.name, replies[index] if replies else 0, -index

    candidates = [i for i, call in enumerate(calls) if mark is None or mark in (merge_of(call), call.id)]
    return max(candidates, key=fitness, default=-1)


class PackedGrouping(msgspec.Struct, array_like=True, frozen=True):
    """A `Grouping` without items: `waiting` has the positions of open calls and the heads of their groups."""

    reply: int
    reply_so_far: ReplySoFar | None
    waiting: list[tuple[int, int]]


class Grouping:
    """The state at the end of a sequence that decides the group of the next item."""

    __slots__ = ("_open", "_reply_so_far", "call", "reply")

    def __init__(self) -> None:
        self.reply = -1  # the head of the reply that the next output may join, or -1
        self.call = -1  # the position of the call that the last result answered, or -1
        self._reply_so_far: ReplySoFar | None = None  # the state of that reply
        self._open: dict[str, tuple[OpenCall, ...]] = {}  # by call id

    def copy(self) -> "Grouping":
        """An independent copy."""
        copy = Grouping()
        copy.reply, copy._reply_so_far, copy._open = self.reply, self._reply_so_far, self._open.copy()
        return copy

    def packed(self) -> PackedGrouping:
        """The state without items."""
        waiting = sorted((position, head) for calls in self._open.values() for position, head, _ in calls)
        return PackedGrouping(self.reply, self._reply_so_far, waiting)

    @classmethod
    def unpacked(cls, packed: PackedGrouping, item: Callable[[int], Item]) -> "Grouping":
        """The grouping that was packed; `item` returns the item at a position."""
        grouping = cls()
        grouping.reply, grouping._reply_so_far = packed.reply, packed.reply_so_far
        for position, head in packed.waiting:
            call = item(position)
            assert isinstance(call, ToolCall)
            grouping._open[call.call_id] = (*grouping._open.get(call.call_id, ()), (position, head, call))
        return grouping

    def open_calls(self) -> tuple[int, ...]:
        """The positions of the calls that wait for their results, in order."""
        if not self._open:
            return ()
        return tuple(sorted(position for calls in self._open.values() for position, _, _ in calls))

    def add(self, item: Item, position: int) -> int:
        """Register the item and return the position of the first item of its group."""
        kind = type(item)
        if is_output(item):
            head = self._join(item, position)
            if isinstance(item, ToolCall):
                self._open[item.call_id] = (*self._open.get(item.call_id, ()), (position, head, item))
            return head
        if kind not in _NEVER_SHOWN:  # these do not end a reply
            self.reply = -1
        return self._answer(item, position) if isinstance(item, ToolResult) else position

    def _join(self, output: Output, position: int) -> int:
        """The head of the reply of an output."""
        before = self._reply_so_far if self.reply >= 0 else None
        if before is None or not before.takes(output):
            self.reply, before = position, None
        self._reply_so_far = with_output(output, before)
        return self.reply

    def _answer(self, result: ToolResult, position: int) -> int:
        """Close the call that a result answers, and return the head of its group."""
        waiting = self._open.pop(result.call_id, ())
        index = 0
        if len(waiting) != 1 or result.extras:
            index = index_of_call([call for _, _, call in waiting], result, [head for _, head, _ in waiting])
        rest = waiting if index < 0 else (*waiting[:index], *waiting[index + 1 :])
        if rest:
            self._open[result.call_id] = rest
        if index < 0:
            self.call = -1
            return position
        self.call, head, _ = waiting[index]
        return head


class Answers:
    """The groups of a sequence, and the call that each result answers; items are added one by one."""

    __slots__ = ("_grouping", "call_of", "heads")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.call_of: dict[int, int] = {}  # the index of a call, by that of its result
        self.heads: list[int] = []  # for each item, the index of the first of its group
        self._grouping = Grouping()
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Find the group of the next item."""
        index = len(self.heads)
        self.heads.append(self._grouping.add(item, index))
        if isinstance(item, ToolResult) and self._grouping.call >= 0:
            self.call_of[index] = self._grouping.call

    def open_calls(self) -> tuple[int, ...]:
        """The indexes of the calls that still wait."""
        return self._grouping.open_calls()


def groups(items: Iterable[Item]) -> list[Group]:
    """Any sequence of items as groups."""
    row = checked_items(items)
    return gathered(zip(Answers(row).heads, row, strict=True))


def gathered(members: Iterable[tuple[int, Item]]) -> list[Group]:
    """The groups of items, each of which comes with the head of its group."""
    by_head: dict[int, list[Item]] = {}
    for head, item in members:
        by_head.setdefault(head, []).append(item)
    return [Group(tuple(items)) for items in by_head.values()]


def pending_calls(items: Iterable[Item]) -> list[ToolCall]:
    """Calls without a result after them."""
    row = checked_items(items)
    calls = (row[position] for position in Answers(row).open_calls())
    return [call for call in calls if isinstance(call, ToolCall)]
