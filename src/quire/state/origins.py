"""Origins: who wrote an item, or the items that it was made of.

An item has an origin by its kind and role, unless it is recorded with another. An item made of others is at
most as trusted as the least trusted of them. Origins are computed on demand, so a `Distrust` of one item, and
its undo, reach all that was made of it.
"""

from collections.abc import Iterable
from itertools import chain

from msgspec.structs import replace

from quire.items import Distrust, Item, Origin, Summary, is_below, lowest, own_origin
from quire.state.log import EDIT
from quire.state.view import View, keep_memo, memos

SOURCES = "quire.of"
"""The key of `extras` for the ids of the sources of an item; it is erased together with them."""

ALL = "*"
"""A source that stands for everything in the conversation so far. Whoever records the item vouches for its
origin."""

ELSEWHERE = "quire.elsewhere"
"""The key of `extras` for the lowest origin of the sources in other conversations."""


def origin_of(view: View | None, item: Item) -> Origin:
    """The origin of an item, with those of its sources in a view, as far as the view has them."""
    if view is None:
        return derived_origin(item, (), has_others=bool(source_ids(item)))
    known = _KnownOrigins.of(view)
    position = view.log.find(item.id, view.end)
    if position is None or view.log.item(position).created_at != item.created_at:
        return known.derived(view, item)
    return lowest((known.at(view, position), own_origin(item)))


def source_ids(item: Item) -> list[str]:
    """The ids of the items that an item names as its sources."""
    return [name for name in item.extras.get(SOURCES, ()) if name != ALL] if item.extras else []


def derived_origin(item: Item, sources: Iterable[Origin], *, has_others: bool) -> Origin:
    """The lowest of an item's own origin and those of its sources.

    With `has_others`, other sources are elsewhere. Their origin is in `ELSEWHERE`, otherwise the one recorded
    with the item, as whoever recorded that knew the sources, and otherwise `external`.
    """
    others: Origin = item.extras.get(ELSEWHERE) or item.origin or "external"
    return lowest((own_origin(item), *sources, *((others,) if has_others else ())))


def is_untrusted(origin: Origin) -> bool:
    """Whether an origin is a tool or outside."""
    return is_below(origin, "model")


def distrusted(view: View) -> set[str]:
    """The ids of the distrusted items."""
    return {edit.target for edit in view.edits_in_force.edits.values() if isinstance(edit, Distrust)}


class _KnownOrigins:
    """The origins at positions of a log, valid until the next edit."""

    def __init__(self, view: View) -> None:
        self._distrusted = distrusted(view)
        self._origins: dict[int, Origin] = {}

    @staticmethod
    def of(view: View) -> "_KnownOrigins":
        """The origins known for the edits of a view."""
        key = (_KnownOrigins, len(view.log.positions("edits", 0, view.end)))
        known = memos(view).get(key)
        if not isinstance(known, _KnownOrigins):
            known = _KnownOrigins(view)
            keep_memo(view, key, known)
        return known

    def at(self, view: View, position: int) -> Origin:
        """The origin of the item at a position."""
        item = view.log.item(position)
        if not (item.extras or isinstance(item, Summary) or self._distrusted):
            return own_origin(item)
        if position not in self._origins:
            self._origins[position] = own_origin(item)  # in case one of its sources names it
            self._origins[position] = self.derived(view, item)
        return self._origins[position]

    def derived(self, view: View, item: Item) -> Origin:
        """The lowest of an item's own origin and those of its sources."""
        if item.id in self._distrusted:
            return "external"
        area = view.log.area(item, view.end) if isinstance(item, Summary) else ()
        covered = (p for start, stop in area for p in range(start, stop) if view.log.head(p) != EDIT)
        sources = [view.log.find(source_id, view.end) for source_id in source_ids(item)]
        origins: set[Origin] = {self.at(view, p) for p in chain(covered, sources) if p is not None}
        return derived_origin(item, origins, has_others=None in sources)


def as_imported(items: Iterable[Item]) -> list[Item]:
    """Items of a history from elsewhere: those of its user or system become text from outside."""
    return [
        item if is_below(own_origin(item), "user") else replace(item, origin="external") for item in items
    ]
