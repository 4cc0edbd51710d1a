"""Changing what a conversation shows of its past: an item is hidden, an answer retracted, a message edited.

Each is an edit that is recorded like any other. Nothing leaves the log, and `undo` takes an edit back. What
tools have done is not undone, and a call that waits for its result cannot be hidden.
"""

from collections.abc import Callable, Sequence
from functools import cache

from quire.errors import CallPending, EditRefused, InvalidValue, cut
from quire.items import ConfigChange, Hide, Item, Message, Span, Summary, ToolCall, ToolResult, Undo
from quire.memory import RECALL
from quire.state import (
    EDIT,
    View,
    is_instruction,
    is_output,
    is_user_message,
    spans_over,
    view_after,
)

Rewrite = Callable[[View], Sequence[Item]]
"""Returns what to record after a view. It may be called several times, and returns equal items each time."""


def hiding(ids: Sequence[str]) -> Rewrite:
    """The rewrite that hides items with their groups."""
    if not ids:
        raise InvalidValue("Session.hide: give the ids of the items to hide")
    hide = _made_once()

    def rewrite(view: View) -> list[Item]:
        items = [item for item_id in ids for item in _group_of(view, item_id)]
        for item in items:
            _check_may_go(view, item)
        return [hide(spans_over(view, items))]

    return rewrite


def retracting() -> Rewrite:
    """The rewrite that hides the answer to the last user message, or its part after the last tool result."""
    hide = _made_once()

    def rewrite(view: View) -> list[Item]:
        for call in view.pending():
            raise CallPending(f"call {cut(call.call_id)!r} still waits for its result: answer it first")
        answer: list[Item] = []
        for item in reversed(view):
            if is_user_message(item) or isinstance(item, ToolCall | ToolResult):
                break
            if is_output(item):
                _check_may_go(view, item)
                answer.append(item)
        else:
            raise InvalidValue("there is no answer to retract: the user has asked nothing")
        return [hide(spans_over(view, answer))] if answer else []

    return rewrite


def editing(message_id: str, message: Message) -> Rewrite:
    """The rewrite that records a message in place of an earlier one, and hides all after that.

    Instructions and configuration stay, and so do pinned items, and groups that began before. A summary of
    items from before the message and after it is undone.
    """
    hide = _made_once()

    @cache
    def undo(target: str) -> Undo:
        return Undo(target, origin="model")

    def rewrite(view: View) -> list[Item]:
        old, start = view.get(message_id), view.position(message_id)
        if not is_user_message(old):
            raise InvalidValue(f"{cut(message_id)!r} is not a message of the user: it cannot be edited")
        if view.fate(message_id).state == "pinned":
            raise EditRefused(f"{cut(message_id)!r} is pinned: undo the pin first")
        log, now = view.log, view
        gone = {p for p in range(start, view.end) if _goes(view, p, start)}
        undone: list[Undo] = []
        while crossing := [one for one in now.summaries() if _crosses(now, one, gone)]:
            undone.append(undo(crossing[-1].id))
            now = view_after(now, undone[-1:])
        return [message, *undone, hide(spans_over(view, (log.item(position) for position in sorted(gone))))]

    return rewrite


def _made_once() -> Callable[[tuple[Span, ...]], Hide]:
    """Makes the edit over some spans once: hooks that hear of it twice must hear of the same.

    What it hides is not recalled either.
    """

    @cache
    def hide(spans: tuple[Span, ...]) -> Hide:
        return Hide(spans, extras={RECALL: False})

    return hide


def _group_of(view: View, item_id: str) -> list[Item]:
    position = view.position(item_id)
    if view.log.head(position) != EDIT:
        return [view.log.item(member) for member in view.log.group(position, view.end)]
    if not view.shows_summary(position):
        raise EditRefused(f"{cut(item_id)!r} is an edit: undo it")
    return [view.get(item_id)]


def _check_may_go(view: View, item: Item) -> None:
    state, by = view.fate(item.id)
    if state == "pinned":
        raise EditRefused(f"{cut(item.id)!r} is pinned: undo the pin first")
    if state == "summarised":
        raise EditRefused(f"the summary {cut(str(by))!r} tells of {cut(item.id)!r}: hide or undo the summary")


def _goes(view: View, position: int, start: int) -> bool:
    """Whether an item goes with all that followed a message at `start`."""
    item, head = view.log.item(position), view.log.head(position)
    is_kept = is_instruction(item) or isinstance(item, ConfigChange)
    return head != EDIT and head >= start and not is_kept


def _crosses(view: View, summary: Summary, gone: set[int]) -> bool:
    """Whether a summary tells of items that go, and of others."""
    area = view.log.area(summary, view.end)
    heads = {p: view.log.head(p) for start, stop in area for p in range(start, stop)}
    return any(p in gone for p in heads) and any(p not in gone for p, head in heads.items() if head != EDIT)
