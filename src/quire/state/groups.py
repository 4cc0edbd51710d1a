"""Groups: a call, its results, its reasoning and the reply that opened it stand or fall together.

The rule for what joins what is here alone. A transcript applies it as items arrive; `groups` applies it to
any sequence.
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

_OUTPUT = (ToolCall, Reasoning)
_NEVER_SHOWN = (Hide, Mask, Pin, Undo)

MERGED = "quire.merged"
"""The key of `extras` that marks what was merged; its value is the same for what came at once."""


class Group(NamedTuple):
    """Items that stand or fall together."""

    items: tuple[Item, ...]

    @property
    def pending(self) -> bool:
        """Whether a call in it still waits for its result."""
        return bool(pending_calls(self.items))


class Reply:
    """The model's output at hand, as far as it decides whether the next item joins it."""

    __slots__ = ("agent_id", "called", "head", "merge", "said")

    def __init__(self) -> None:
        self.head = -1  # the position of its first item; below zero where there is no reply to join
        self.agent_id: str | None = None
        self.merge: object = None  # what it was merged with, if it was
        self.said = False  # holds a message
        self.called = False  # holds a call

    def copy(self) -> "Reply":
        """The same reply, to grow on its own."""
        twin = Reply()
        twin.head, twin.agent_id, twin.said, twin.called = self.head, self.agent_id, self.said, self.called
        twin.merge = self.merge
        return twin

    def join(self, output: Item, position: int) -> int:
        """The head of the group of a model's next output, which is this reply or the beginning of another.

        Calls join what was said before them. Words and thoughts after plain words begin something new, and so
        does another agent, and what was merged beside what was not.
        """
        kind = type(output)
        words_after_words = self.said and not self.called and kind is not ToolCall
        merge = merge_of(output)
        if self.head < 0 or words_after_words or output.agent_id != self.agent_id or merge != self.merge:
            self.head, self.agent_id, self.said, self.called = position, output.agent_id, False, False
            self.merge = merge
        if kind is ToolCall:
            self.called = True
        elif kind is Message:
            self.said = True
        return self.head


def checked_items(items: Iterable[Item]) -> list[Item]:
    """The items, if they are some."""
    if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected several items, not {type(items).__name__}")
    row = list(items)
    for kind in set(map(type, row)) - KINDS:
        raise WrongType(f"expected items, not {kind.__name__}")
    return row


def is_output(item: Item) -> bool:
    """Whether a model made it as part of a reply."""
    if isinstance(item, Message):
        return item.role == "assistant"
    return isinstance(item, _OUTPUT)


def is_edit(item: Item) -> TypeGuard[Edit]:
    """Whether an item changes what is shown, rather than being shown where it was recorded."""
    return type(item) in EDITS and not (isinstance(item, Summary) and not item.spans)


def answered(calls: Sequence[ToolCall], result: ToolResult, replies: Sequence[int] = ()) -> int:
    """Which of the calls that wait under one id a result is for; `replies` says of which reply each is.

    Ids come again: in every reply of some providers, for each of several calls at once, and in what a child
    did while a call of its parent waited. A result is for a call that was merged as it was, or was not; then
    for one of its name; then for one of the latest reply; and in that for the earliest, because results come
    in the order of their calls. Below zero: for none of them.
    """

    def fitness(index: int) -> tuple[bool, bool, int, int]:
        call = calls[index]
        together = came_together(call, result)
        return together, call.name == result.name, replies[index] if replies else 0, -index

    able = [index for index, call in enumerate(calls) if _may_answer(call, result)]
    return max(able, key=fitness) if len(able) > 1 else able[0] if able else -1


def _may_answer(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result can be for a call of its id.

    One that was merged is for a call that came with it, or for the very one that it answered in the child:
    what a child kept apart stays apart. One that was recorded here may be for any.
    """
    mark = _last_mark(result)
    return mark is None or mark in (_last_mark(call), mark_of(call.id))


def came_together(one: Item, other: Item) -> bool:
    """Whether two items were merged as one group, or both were not merged."""
    return _last_mark(one) == _last_mark(other)


def merge_of(item: Item) -> object:
    """What an item was merged with, if it was: a mark for each merge it came through, the last one first."""
    return item.extras.get(MERGED) if item.extras else None


def mark_of(item_id: str) -> str:
    """An id as one mark: there is a slash between two."""
    return item_id.replace("~", "~0").replace("/", "~1")


def begins_merge(item: Item) -> bool:
    """Whether a merged group began with an item."""
    return _last_mark(item) == mark_of(item.id)


def first_of_merge(item: Item) -> str:
    """The id of what the group of a merged item began with: empty where it was not merged, or is that."""
    mark = _last_mark(item) or ""
    first = mark.replace("~1", "/").replace("~0", "~")
    return "" if first == item.id else first


def _last_mark(item: Item) -> str | None:
    marks = merge_of(item)
    return marks.partition("/")[0] if isinstance(marks, str) else None


class Answers:
    """What answers what in a sequence of items, found as they are taken one by one."""

    __slots__ = ("_firsts", "_reply", "call_of", "heads", "waiting")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.call_of: dict[int, int] = {}  # for results, by index, the call that each is for
        self.heads: list[int] = []  # for each item the index of the first of its group
        self.waiting: dict[str, list[tuple[int, ToolCall]]] = {}
        self._reply = Reply()
        self._firsts: dict[str, int] = {}  # by id, the heads of those that a merged group began with
        for item in items:
            self.take(item)

    def take(self, item: Item) -> None:
        """Find the group of the next item."""
        index = head = len(self.heads)
        if is_output(item):
            head = self._reply.join(item, index)
            if head == index and (first := first_of_merge(item)) in self._firsts:
                self._reply.head = head = self._firsts[first]
        elif not isinstance(item, _NEVER_SHOWN):  # these are recorded between items and do not come between
            self._reply.head = -1
        if isinstance(item, ToolCall):
            self.waiting.setdefault(item.call_id, []).append((index, item))
        elif isinstance(item, ToolResult) and (calls := self.waiting.get(item.call_id)):
            replies = [self.heads[position] for position, _ in calls]
            place = answered([call for _, call in calls], item, replies)
            if place >= 0:
                call, _ = calls.pop(place)
                self.call_of[index], head = call, self.heads[call]
        self.heads.append(head)
        if item.extras and begins_merge(item) and not is_edit(item):
            self._firsts[item.id] = head


def answers(items: Iterable[Item]) -> tuple[dict[int, int], list[int]]:
    """For results, by position, the call that each is for; and the calls that still wait."""
    found = Answers(items)
    return found.call_of, [position for calls in found.waiting.values() for position, _ in calls]


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
