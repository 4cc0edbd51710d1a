"""What was chosen of a history: how far somebody may read a row, and from where on."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from quire.items import Item
from quire.sections.rows import Row
from quire.state import ItemRow, View, protected_positions
from quire.tokens import Counter


class Sifted(ItemRow):
    """A stretch of a row, chosen from a view, after some single ones before it. It never changes.

    Of one that `ends`, the last turn is over: what begins the next is shown elsewhere.
    """

    __slots__ = ("_early", "_row", "_start", "_stop", "ends", "view")

    def __init__(self, row: Row, view: View, start: int = 0, early: Sequence[int] = ()) -> None:
        self._row = row
        self._early = early
        self._start = start
        self._stop = len(row.items)
        self.ends = False
        self.view = view

    def __len__(self) -> int:
        return len(self._early) + self._stop - self._start

    def __iter__(self) -> Iterator[Item]:
        items = self._row.items
        return chain((items[place] for place in self._early), items[self._start : self._stop])

    def _slice(self, start: int, stop: int) -> list[Item]:
        return [self._at(place) for place in range(start, stop)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Sifted, list, tuple)) and list(self) == list(other)  # pyright: ignore

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Sifted, {len(self)} items of {self.view!r}>"

    def without_last(self) -> "Sifted":
        """All but the last, which begins a turn and is shown elsewhere."""
        shorter = Sifted(self._row, self.view, self._start, self._early)
        shorter._stop = self._stop - 1
        shorter.ends = True
        return shorter

    def has(self, item_id: str) -> bool:
        """Whether an item is among them."""
        position = self.view.log.find(item_id, self.view.end)
        if position is None:
            return False
        if position in self.view.shape.summaries:
            return any(self._row.items[place].id == item_id for place in self._frame())
        return self._has_place(self._row.indexes.get(position, self._stop))

    def counted(self, counter: Counter) -> int:
        """The counts of all of them, added up."""
        return self.counted_before(counter)(self._stop)

    def counted_before(self, counter: Counter) -> Callable[[int], int]:
        """The counts of all before a place of the row that is read, added up."""
        sums = self._row.counted(self._stop, counter)
        early = sum(sums[place + 1] - sums[place] for place in self._early) - sums[self._start]
        return lambda place: early + sums[place]

    def staying(self, source: View) -> list[int]:
        """The places in the row of what no cut takes away, in order."""
        places = {self._row.indexes.get(position, self._stop) for position in protected_positions(source)}
        return sorted({place for place in places if self._has_place(place)}.union(self._frame()))

    def from_place(self, cut: int, stays: Sequence[int]) -> tuple[Item, ...]:
        """What comes from a place on, but for groups that begin before it; and what stays in any case."""
        row, firsts = self._row, self._row.firsts
        kept = [row.items[place] for place in stays[: bisect_left(stays, cut)]]
        rest = row.items[cut : self._stop]
        if any(firsts[head] < cut for head in row.heads[cut : self._stop]):
            staying = frozenset(stays)
            places = enumerate(row.heads[cut : self._stop], cut)
            rest = [row.items[p] for p, head in places if firsts[head] >= cut or p in staying]
        return (*kept, *rest)

    @property
    def turns(self) -> Sequence[int]:
        """The places in the row where turns begin; some may be out of reach."""
        return self._row.turns

    @property
    def reach(self) -> range:
        """The places of the row that are read one after the other."""
        return range(self._start, self._stop)

    def at_places(self, places: Sequence[int]) -> list[Item]:
        """What stands at some places of the row."""
        return [self._row.items[place] for place in places]

    def _at(self, index: int) -> Item:
        early = len(self._early)
        return self._row.items[self._early[index] if index < early else self._start + index - early]

    def _has_place(self, place: int) -> bool:
        at = bisect_left(self._early, place)
        return self._start <= place < self._stop or (at < len(self._early) and self._early[at] == place)

    def _frame(self) -> list[int]:
        frame = self._row.frame
        return [place for place in frame[: bisect_left(frame, self._stop)] if self._has_place(place)]
