"""Each item once: what several sections bring is shown by one of them.

Histories have the say, the first before the others, because nothing may be taken from the middle of one. Of
the rest, the first that brings an item shows it, and what is quoted comes last.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeGuard

from quire.context.gathering import Content, Piece
from quire.items import Item
from quire.sections import Heard, Quote, Quotes, Sifted
from quire.state import Scroll, Segment, View, keep_memo, memos


def is_history(content: object) -> TypeGuard[View | Sifted]:
    """Whether it is a history, which can be asked what it has."""
    return type(content) is View or type(content) is Sifted


def by_say(pieces: Sequence[Piece]) -> list[int]:
    """The places of pieces, those that have the say before the others."""
    return sorted(range(len(pieces)), key=list(map(_rank, pieces)).__getitem__)


def _rank(piece: Piece) -> int:
    if isinstance(piece.content, Quotes):
        return 3  # what is shown anyway need not be quoted
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
    """Items that are shown already, known by their ids, and quotes. Histories are asked, not copied."""

    def __init__(self, quoted: Iterable[Quote] = ()) -> None:
        self._items: dict[str, Item] = {}
        self._rows: list[_Row | Sifted] = []
        self._quoted = Heard(quoted)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._items or any(row.has(item_id) for row in self._rows)

    def shows(self, quote: Quote) -> bool:
        """Whether something of what a quote stands for is shown, or quoted already."""
        item = self._items.get(quote.first) if self._items else None
        if item is not None and quote.is_of(item):
            return True
        for row in self._rows:  # this is asked of each quote, in each turn
            if _shows(row, quote):
                return True
        return self._quoted.has(quote)

    def add(self, content: Content | Scroll) -> None:
        """Take in what is shown."""
        if isinstance(content, Sifted):
            self._rows.append(content)
        elif isinstance(content, View):
            self._rows.append(_Row(content))
        elif isinstance(content, Scroll) and content.view is not None:
            self._rows.append(_Row(content.view, content.start, content.before, whole=False))
        elif not isinstance(content, Quotes):  # of quotes it is not known yet which are told
            self._items.update((item.id, item) for item in content)

    def new_of(self, content: Content) -> Content:
        """The content without what is shown already; itself where that is all of it."""
        if is_history(content) and not self._may_share(content):
            return content
        if isinstance(content, Quotes):
            return content.without(self._as_it_is().shows)
        new = without_twins([item for item in content if item.id not in self])
        return content if len(new) == len(content) else new

    def _as_it_is(self) -> "Seen":
        """The same, for whoever asks later: what is added meanwhile is not in it."""
        now = Seen()
        now._items, now._rows, now._quoted = dict(self._items), list(self._rows), self._quoted
        return now

    def _may_share(self, content: View | Sifted) -> bool:
        if not self._rows and not self._items:
            return False
        view = content.view if isinstance(content, Sifted) else content
        return bool(self._items) or not all(
            isinstance(row, _Row) and row.is_whole and apart(view, row.view) for row in self._rows
        )


def shows(scroll: Scroll, item_id: str) -> bool:
    """Whether an item is among what is shown."""
    beside = (*scroll.before, *scroll.after)
    if any(item.id == item_id for item in beside):
        return True
    return scroll.view is not None and _Row(scroll.view, scroll.start).has(item_id)


def without_twins(items: Sequence[Item]) -> Sequence[Item]:
    """The items, each once."""
    if len(items) < 2 or len({item.id for item in items}) == len(items):
        return items
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.id, item)
    return tuple(first.values())


class _Row:
    """A history, asked for what it shows; where it begins is worked out once."""

    def __init__(
        self, view: View, start: int = 0, before: Sequence[Item] = (), *, whole: bool = True
    ) -> None:
        self.view = view
        self.is_whole = whole
        self._start = start
        self._before = frozenset(item.id for item in before)

    @cached_property
    def _from(self) -> int:
        return self.view.position_at(self._start)

    def has(self, item_id: str) -> bool:
        """Whether it shows an item."""
        if item_id in self._before:
            return True
        position = self.view.log.find(item_id, self.view.end)
        return position is not None and self._has_at(position)

    def shows(self, quote: Quote) -> bool:
        """Whether it shows something of what a quote stands for, and not another that has its id."""
        log, first = self.view.log, quote.first
        position = log.find(first, self.view.end)
        if position is None or not quote.is_of(log.item(position)):
            return False
        if first in self._before or self._has_at(position):
            return True
        return len(quote.covers) > 1 and any(map(self.has, quote.covers))

    def _has_at(self, position: int) -> bool:
        view = self.view
        if position in view.shape.summaries:
            return True  # a summary that is shown is never cut off
        if view.run_at(position) is None or self._start >= len(view):
            return False
        return self._start == 0 or position >= self._from


def _shows(row: _Row | Sifted, quote: Quote) -> bool:
    if isinstance(row, _Row):
        return row.shows(quote)
    view = row.view
    position = view.log.find(quote.first, view.end)
    if position is None or not quote.is_of(view.log.item(position)):
        return False
    return any(map(row.has, quote.covers))


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
    keep_memo(one, key, _Compared(last, max(known.own, one.end), max(known.others, other.end), meet))
    return not meet
