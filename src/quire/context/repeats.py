"""Each item once: what several sections bring is shown by one of them.

Histories have the say, the first before the others, because nothing may be taken from the middle of one. Of
the rest, the first that brings an item shows it.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from quire.context.gathering import Content, Piece
from quire.items import Item
from quire.sections.quotes import Quotes
from quire.sections.sifted import Sifted
from quire.state import View
from quire.state.growing import keep, memos
from quire.state.log import Segment
from quire.state.scroll import Scroll


def is_history(content: object) -> TypeGuard[View | Sifted]:
    """Whether it is a history, which can be asked what it has."""
    return type(content) is View or type(content) is Sifted


def by_say(pieces: Sequence[Piece]) -> list[int]:
    """The places of pieces, those that have the say before the others."""
    return sorted(range(len(pieces)), key=list(map(_rank, pieces)).__getitem__)


def _rank(piece: Piece) -> int:
    return 0 if type(piece.content) is View else 1 if piece.section.keeps == "newest" else 2


def once(pieces: Sequence[Piece]) -> list[Content]:
    """What each piece has to show that none before it shows, where there is room for all."""
    seen = Seen()
    found: list[Content] = [piece.content for piece in pieces]
    for index in by_say(pieces):
        found[index] = seen.new_of(found[index])
        seen.add(found[index])
    return found


class Seen:
    """Items that are shown already, known by their ids. Histories are asked, not copied."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._rows: list[View | Sifted | Scroll] = []

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._ids or any(_has(row, item_id) for row in self._rows)

    def add(self, content: Content | Scroll) -> None:
        """Take in what is shown."""
        if is_history(content) or (isinstance(content, Scroll) and content.view is not None):
            self._rows.append(content)
        elif isinstance(content, Quotes):
            self._ids.update(content.likely())
        else:
            self._ids.update(item.id for item in content)

    def new_of(self, content: Content) -> Content:
        """The content without what is shown already; itself where that is all of it."""
        if is_history(content) and not self._may_share(content):
            return content
        if isinstance(content, Quotes):
            return content.without(self._as_it_is().__contains__)
        new = without_twins([item for item in content if item.id not in self])
        return content if len(new) == len(content) else new

    def _as_it_is(self) -> "Seen":
        """The same, for whoever asks later: what is added meanwhile is not in it."""
        now = Seen()
        now._ids, now._rows = set(self._ids), list(self._rows)
        return now

    def _may_share(self, content: View | Sifted) -> bool:
        if not self._rows and not self._ids:
            return False
        view = content.view if isinstance(content, Sifted) else content
        return bool(self._ids) or not all(isinstance(r, View) and apart(view, r) for r in self._rows)


def shows(scroll: Scroll, item_id: str) -> bool:
    """Whether an item is among what is shown."""
    beside = (*scroll.before, *scroll.after)
    return any(item.id == item_id for item in beside) or (scroll.view is not None and _has(scroll, item_id))


def without_twins(items: Sequence[Item]) -> Sequence[Item]:
    """The items, each once."""
    if len(items) < 2 or len({item.id for item in items}) == len(items):
        return items
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.id, item)
    return tuple(first.values())


def _has(row: View | Sifted | Scroll, item_id: str) -> bool:
    """Whether a history shows an item."""
    if isinstance(row, Sifted):
        return row.has(item_id)
    view = row if isinstance(row, View) else row.view
    before = () if isinstance(row, View) else row.before
    start = 0 if isinstance(row, View) else row.start
    if view is None or any(item.id == item_id for item in before):
        return view is not None
    position = view.log.find(item_id, view.end)
    if position is None or position in view.shape.summaries:
        return position is not None  # a summary that is shown is never cut off
    if view.run_at(position) is None or start >= len(view):
        return False
    return start == 0 or (view.log.time(position), position) >= view.place_at(start)


class _Compared(NamedTuple):
    """How far two logs were looked through for items that are in both, and whether there are any."""

    other: Segment
    own: int
    others: int
    meet: bool


def apart(one: View, other: View) -> bool:
    """Whether no item is in both logs. What was compared once is not compared again."""
    last = other.log.segments[-1]
    if one.log.segments[0] is other.log.segments[0]:
        return False
    key = ("quire.compared", id(last))
    known = memos(one).get(key)
    if not isinstance(known, _Compared) or known.other is not last:
        known = _Compared(last, 0, 0, False)
    own, others = one.log.items(known.own, one.end), other.log.items(known.others, other.end)
    meet = (
        known.meet
        or any(other.log.find(item.id, other.end) is not None for item in own)
        or any(one.log.find(item.id, one.end) is not None for item in others)
    )
    keep(one, key, _Compared(last, max(known.own, one.end), max(known.others, other.end), meet))
    return not meet
