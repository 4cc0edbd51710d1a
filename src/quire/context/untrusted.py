"""Finds the untrusted items of a request: from tools or from outside, and new since the last user message.

It reads origins and sources, and no text. An item of the history is new by its position. A summary is new if
it covers a new untrusted item, and a ledger if it has one as a source. Quotes for this turn are always new.
"""

from collections.abc import Iterator

from quire.items import Item, Message, Summary, is_below
from quire.sections import TURN
from quire.state import SOURCES, Scroll, View, is_untrusted, origin_of, view_of_list


def untrusted_in(shown: Scroll) -> list[str]:
    """Return the ids of the items of a request that are untrusted."""
    if shown.view is None:  # a history that is filtered is a list
        shown = Scroll(view=view_of_list(shown))
    assert shown.view is not None
    view, since = shown.view, _after_last_user_message(shown.view)
    candidates = _candidates(shown, view, since)
    return list(dict.fromkeys(item.id for item in candidates if _is_new(view, item, since)))


def _after_last_user_message(view: View) -> int:
    """Return the position after the last message of the user; 0 if there is none."""
    for position in reversed(view.log.positions("users", 0, view.end)):
        item = view.log.item(position)
        is_original = isinstance(item, Message) and SOURCES not in item.extras
        if is_original and not is_below(origin_of(view, item), "user"):
            return position + 1
    return 0


def _candidates(shown: Scroll, view: View, since: int) -> Iterator[Item]:
    """Yield the visible items that may be new: all but the history before the last user message."""
    yield from shown.before
    yield from view.summaries()
    yield from view[max(view.index_of(since), shown.start) :]
    yield from shown.after


def _is_new(view: View, item: Item, since: int) -> bool:
    """Whether an item is untrusted, and has content from after the last user message."""
    if not is_untrusted(origin_of(view, item)):
        return False
    position = view.log.find(item.id, view.end)
    if isinstance(item, Summary) and position is not None:
        area = view.log.area(item, view.end) or [(position, position + 1)]
        sources = [p for start, stop in area for p in range(max(start, since), stop)]
    elif position is not None:
        return position >= since
    else:
        positions = [view.log.find(name, view.end) for name in item.extras.get(SOURCES, ())]
        sources = [p for p in positions if p is not None and p >= since]
        if TURN in item.extras or not positions or None in positions:
            return True
    return any(is_untrusted(origin_of(view, view.log.item(p))) for p in sources)
