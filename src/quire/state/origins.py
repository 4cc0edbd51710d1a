"""Origins: whose words an item is made of.

What was said or done has an origin by its kind and role, unless it is recorded with another. What is made of
other items is at most as trusted as the least of them, however it was made of them. That is computed when it
is asked for, so a `Distrust` of one item, and the undo of it, reach all that was made of it.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from quire.items import Distrust, Item, Origin, Summary, is_below, lowest, own_origin
from quire.state.log import EDIT
from quire.state.view import View, keep_memo, memos

OF = "quire.of"
"""The key of `extras` for the ids of the items that an item was made of: it is forgotten with them."""

ALL = "*"
"""Among the sources of an item: it may be made of all that the conversation had by then. Who made it vouches
for its origin."""

ELSEWHERE = "quire.elsewhere"
"""The key of `extras` for the least origin of the sources that are in other conversations."""


def origin_of(view: View | None, item: Item) -> Origin:
    """The origin of an item that a view knows, or that was made of what it knows; of others by itself."""
    if view is None:
        return lowest((own_origin(item), *(_elsewhere(item) for _ in _names(item)[:1])))
    known = _Known.of(view)
    position = view.log.find(item.id, view.end)
    if position is None or view.log.item(position).created_at != item.created_at:
        return known.derived(view, item)
    return lowest((known.at(view, position), own_origin(item)))


def is_untrusted(origin: Origin) -> bool:
    """Whether something is the words of a tool, or from outside."""
    return is_below(origin, "model")


def distrusted(view: View) -> set[str]:
    """The ids of the items that are distrusted."""
    return {edit.target for edit in view.edits_in_force.edits.values() if isinstance(edit, Distrust)}


class _Known:
    """The origins of positions of a log, as long as no edit is recorded."""

    def __init__(self, view: View) -> None:
        self._distrusted = distrusted(view)
        self._origins: dict[int, Origin] = {}

    @staticmethod
    def of(view: View) -> "_Known":
        """What is known for the edits of a view."""
        key = (_Known, len(view.log.positions("edits", 0, view.end)))
        found = memos(view).get(key)
        if not isinstance(found, _Known):
            found = _Known(view)
            keep_memo(view, key, found)
        return found

    def at(self, view: View, position: int) -> Origin:
        """The origin of the item at a position."""
        item = view.log.item(position)
        if not (item.extras or isinstance(item, Summary) or self._distrusted):
            return own_origin(item)
        if position not in self._origins:
            self._origins[position] = own_origin(item)  # while its sources are read, which may name it
            self._origins[position] = self.derived(view, item)
        return self._origins[position]

    def derived(self, view: View, item: Item) -> Origin:
        """The lowest of an item's own origin and those of its sources."""
        if item.id in self._distrusted:
            return "external"
        return lowest((own_origin(item), *self._sources(view, item)))

    def _sources(self, view: View, item: Item) -> Iterable[Origin]:
        if isinstance(item, Summary):
            for start, stop in view.log.area(item, view.end):
                content = (p for p in range(start, stop) if view.log.head(p) != EDIT)
                found: set[Origin] = {self.at(view, position) for position in content}
                yield from found
        for name in _names(item):
            position = view.log.find(name, view.end)
            if position is not None:
                yield self.at(view, position)
            else:
                yield _elsewhere(item)


def _names(item: Item) -> list[str]:
    return [name for name in item.extras.get(OF, ()) if name != ALL] if item.extras else []


def _elsewhere(item: Item) -> Origin:
    """The least origin of an item's sources elsewhere. Who recorded its origin knew what it is made of."""
    known: Origin = item.extras.get(ELSEWHERE) or item.origin or "external"
    return known


def as_imported(items: Iterable[Item]) -> list[Item]:
    """Items of a history that came from elsewhere: what it calls the user or the system is from outside."""
    return [
        item if is_below(own_origin(item), "user") else replace(item, origin="external") for item in items
    ]
