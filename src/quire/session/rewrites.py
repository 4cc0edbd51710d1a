"""Rewrites of the visible past: hide items, retract an answer, or edit a message.

Each rewrite is recorded as edits. Nothing leaves the log, and `undo` takes an edit back. Effects of tools are
not undone, and a call that waits for its result cannot be hidden.
"""

from collections.abc import Callable, Sequence
from functools import cache

from quire.errors import CallPending, EditRefused, InvalidValue, cut
from quire.items import ConfigChange, Hide, Item, Message, Span, Summary, ToolCall, ToolResult, Undo
from quire.memory import RECALL
from quire.state import EDIT, View, is_instruction, is_output, is_user_message, spans_over, view_after

Rewrite = Callable[[View], Sequence[Item]]
"""Given a view, returns the items to record. It may be called again, and then returns equal items."""


def hiding(ids: Sequence[str]) -> Rewrite:
    """The rewrite that hides items with their groups."""
    if not ids:
        raise InvalidValue("Session.hide: give the ids of the items to hide")
    hide = _cached_hide()

    def rewrite(view: View) -> list[Item]:
        items = [item for item_id in ids for item in _group_of(view, item_id)]
        for item in items:
            _check_can_be_hidden(view, item)
        return [hide(spans_over(view, items))]

    return rewrite


def retracting() -> Rewrite:
    """The rewrite that hides the answer to the last user message, or the part after the last tool result."""
    hide = _cached_hide()

    def rewrite(view: View) -> list[Item]:
        for call in view.pending():
            raise CallPending(f"call {cut(call.call_id)!r} still waits for its result: answer it first")
        answer: list[Item] = []
        for item in reversed(view):
            if is_user_message(item) or isinstance(item, ToolCall | ToolResult):
                break
            if is_output(item):
                _check_can_be_hidden(view, item)
                answer.append(item)
        else:
            raise InvalidValue("there is no answer to retract: the user has asked nothing")
        return [hide(spans_over(view, answer))] if answer else []

    return rewrite


def editing(message_id: str, message: Message) -> Rewrite:
    """The rewrite that records a new message, and hides an earlier one and all items after it.

    Instructions, configuration, pinned items, and groups that began earlier stay shown. A summary that covers
    both hidden items and others is undone.
    """
    hide = _cached_hide()

    @cache
    def undo(target: str) -> Undo:
        return Undo(target, origin="model")

    def rewrite(view: View) -> list[Item]:
        old, start = view.get(message_id), view.position(message_id)
        if not is_user_message(old):
            raise InvalidValue(f"{cut(message_id)!r} is not a message of the user: it cannot be edited")
        if view.fate(message_id).state == "pinned":
            raise EditRefused(f"{cut(message_id)!r} is pinned: undo the pin first")
        log, latest = view.log, view
        hidden = {p for p in range(start, view.end) if _is_replaced(view, p, start)}
        undos: list[Undo] = []
        while crossing := [summary for summary in latest.summaries() if _crosses(latest, summary, hidden)]:
            undos.append(undo(crossing[-1].id))
            latest = view_after(latest, undos[-1:])
        return [message, *undos, hide(spans_over(view, (log.item(position) for position in sorted(hidden))))]

    return rewrite


def _cached_hide() -> Callable[[tuple[Span, ...]], Hide]:
    """Return a function that makes a `Hide`, and for equal spans returns the same one: its id is stable.

    The hidden items are excluded from recall, too.
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


def _check_can_be_hidden(view: View, item: Item) -> None:
    state, by = view.fate(item.id)
    if state == "pinned":
        raise EditRefused(f"{cut(item.id)!r} is pinned: undo the pin first")
    if state == "summarised":
        raise EditRefused(f"{cut(item.id)!r} is summarised by {cut(str(by))!r}: hide or undo the summary")


def _is_replaced(view: View, position: int, start: int) -> bool:
    """Whether an edit of the message at `start` hides the item at a position."""
    item, head = view.log.item(position), view.log.head(position)
    is_kept = is_instruction(item) or isinstance(item, ConfigChange)
    return head != EDIT and head >= start and not is_kept


def _crosses(view: View, summary: Summary, hidden: set[int]) -> bool:
    """Whether a summary covers both hidden items and others."""
    area = view.log.area(summary, view.end)
    positions = [p for start, stop in area for p in range(start, stop) if view.log.head(p) != EDIT]
    is_hidden = [p in hidden for p in positions]
    return any(is_hidden) and not all(is_hidden)
