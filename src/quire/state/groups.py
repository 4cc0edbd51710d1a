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
        self.merge: str | None = None  # what it was merged with, if it was
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
        merge = output.extras.get(MERGED) if output.extras else None
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


def answered(calls: Sequence[ToolCall], result: ToolResult) -> int:
    """Which of the calls that wait under one id a result is for.

    The latest of the same name, or else the latest: ids come again, in every reply of some providers and in
    what a child did while a call of its parent waited.
    """
    latest = len(calls) - 1
    return next((index for index in range(latest, -1, -1) if calls[index].name == result.name), latest)


def answers(items: Iterable[Item]) -> tuple[dict[int, int], list[int]]:
    """For results, by position, the call that each is for; and the calls that still wait."""
    waiting: dict[str, list[tuple[int, ToolCall]]] = {}
    found: dict[int, int] = {}
    for position, item in enumerate(items):
        if isinstance(item, ToolCall):
            waiting.setdefault(item.call_id, []).append((position, item))
        elif isinstance(item, ToolResult) and (calls := waiting.get(item.call_id)):
            found[position] = calls.pop(answered([call for _, call in calls], item))[0]
    return found, [position for calls in waiting.values() for position, _ in calls]


def groups(items: Iterable[Item]) -> list[Group]:
    """Any sequence of items in the smallest pieces that may be dropped or moved."""
    row = checked_items(items)
    call_of, _ = answers(row)
    heads: list[int] = []
    members: dict[int, list[Item]] = {}
    reply = Reply()
    for index, item in enumerate(row):
        head = index
        if is_output(item):
            head = reply.join(item, index)
        elif not isinstance(item, _NEVER_SHOWN):  # these are recorded between items and do not come between
            reply.head = -1
        if index in call_of:
            head = heads[call_of[index]]
        heads.append(head)
        members.setdefault(head, []).append(item)
    return [Group(tuple(found)) for found in members.values()]


def pending_calls(items: Iterable[Item]) -> list[ToolCall]:
    """Calls without a result after them."""
    row = checked_items(items)
    calls = (row[position] for position in answers(row)[1])
    return [call for call in calls if isinstance(call, ToolCall)]
