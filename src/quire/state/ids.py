"""Finding an item by its id without a dictionary of ids.

Ids sort by time, so in most logs each is higher than all before it: such an id is new without a look-up, and
is found by bisection. Ids that come out of order (from another process, another framework, or recorded late)
are strays and go into a dictionary; once there are more than a few, all ids do, because the bisection has to
step over each of them.
"""

from collections.abc import Sequence

from quire.items import Item

_A_FEW = 64


class Strays:
    """The ids of one segment that are not in rising order; offsets count from the segment's first item."""

    __slots__ = ("_ids", "_offsets", "complete")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._offsets: set[int] = set()
        self.complete = False  # whether every id is in the dictionary

    def add(self, item_id: str, offset: int, items: Sequence[Item]) -> None:
        """Take in an id that is not the highest, or any id once all belong here."""
        self._ids[item_id] = offset
        if not self.complete:
            self._offsets.add(offset)
            if len(self._ids) > _A_FEW:
                self._ids.update((item.id, index) for index, item in enumerate(items))
                self.complete = True  # before the offsets go: another thread may be searching
                self._offsets = set()

    def find(self, item_id: str, items: Sequence[Item]) -> int | None:
        """The offset of the item with this id, stray or not."""
        offset = self._ids.get(item_id)
        return self._bisect(item_id, items) if offset is None and not self.complete else offset

    def _bisect(self, item_id: str, items: Sequence[Item]) -> int | None:
        low, high = 0, len(items)
        while low < high:
            middle = probe = (low + high) // 2
            while probe >= low and probe in self._offsets:
                probe -= 1
            if probe < low or items[probe].id < item_id:
                low = middle + 1
            else:
                high = probe
        found = high < len(items) and items[high].id == item_id
        return high if found else None
