"""Who stands beside whom, in tables: worked out when it is looked at, and kept until it changes."""

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from math import inf
from typing import TypeVar

from quire.memory.index.lasting.facts import Fact, Facts
from quire.memory.index.orders import Rank
from quire.memory.index.rows import PLACE
from quire.memory.ranking.postings import NOBODY, REACH
from quire.memory.ranking.weights import OFFSETS, in_grains

_STRETCHES = 1 << 64
_Made = TypeVar("_Made")


class Filled(dict[int, _Made]):
    """A dictionary in which everything is, once it is asked for."""

    def __init__(self, made: Callable[[int], _Made]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, key: int) -> _Made:
        self[key] = made = self._made(key)
        return made


class Beside:
    """Whom a leaf lends to, its place, and what is in and around places."""

    def __init__(self, sight: Facts) -> None:
        self._sight = sight
        self.soon: Iterable[int] = ()
        """Those that are looked at next, one by one: all are read with the first."""
        self.lends_to = Filled[tuple[int, ...]](self._lent)
        self.length = Filled[float](self._length)
        self.share = Filled[float](self._share)
        self.place_of = Filled[int](self._placed)
        self._newest_in = Filled[Rank](self._newest)
        self._members = Filled[tuple[int, ...]](self._standing)

    def let_go(self, changed: Iterable[Fact]) -> None:
        """Leaves came or are others than they were: nothing of them, and of those beside them, is kept."""
        for fact in changed:
            leaf = fact.number
            for place in (self.place_of.pop(leaf, None), _place(leaf, fact.stretch)):
                if place is not None:
                    self._members.pop(place, None)
                    self._newest_in.pop(place, None)
            self.length.pop(leaf, None)
            self.share.pop(leaf, None)
            for step in (0, *OFFSETS):
                self.lends_to.pop(leaf - step, None)

    def _fact(self, leaf: int) -> Fact:
        if leaf not in self._sight.facts:
            self._sight.see({near + step for near in (leaf, *self.soon) for step in (0, *OFFSETS)})
        return self._sight.facts[leaf]

    def _lent(self, leaf: int) -> tuple[int, ...]:
        near, self.soon = (leaf, *self.soon), ()
        facts = self._sight.see({one + step for one in near for step in (0, *OFFSETS)})
        stretch = facts[leaf].stretch
        beside = (facts.get(leaf + step) for step in OFFSETS)
        return (leaf, *(one.number if one and one.stretch == stretch else NOBODY for one in beside))

    def _length(self, leaf: int) -> float:
        return self._fact(leaf).length

    def _share(self, leaf: int) -> float:
        return in_grains(min(1.0, REACH / max(1, self._fact(leaf).size)))

    def _placed(self, leaf: int) -> int:
        return _place(leaf, self._fact(leaf).stretch)

    def have_place(self, leaves: Iterable[tuple[int, int]]) -> None:
        """Leaves with their stretches, of which nothing more need be known to place them."""
        self.place_of.update((leaf, leaf // PLACE * _STRETCHES + stretch) for leaf, stretch in leaves)

    def _standing(self, place: int) -> tuple[int, ...]:
        """Those in a place, in order."""
        first, stretch = place // _STRETCHES * PLACE, place % _STRETCHES
        facts = self._sight.see(range(first, first + PLACE))
        return tuple(
            leaf
            for leaf in range(first, first + PLACE)
            if (fact := facts.get(leaf)) is not None and fact.stretch == stretch
        )

    def _newest(self, place: int) -> Rank:
        facts, newest, at = self._sight.facts, 0, -inf
        for leaf in self._members[place]:
            if facts[leaf].at >= at:
                newest, at = leaf, facts[leaf].at
        return self._sight.rank(newest)

    def newest(self, places: Sequence[int], count: int) -> list[int]:
        """Those of some places in which something is the newest."""
        self._see_places(places)
        return nlargest(count, places, self._newest_in.__getitem__)

    def _see_places(self, places: Iterable[int]) -> None:
        """Read all that is in some places at once."""
        new = {place // _STRETCHES * PLACE for place in places if place not in self._members}
        self._sight.see({first + step for first in new for step in range(PLACE)})

    def widened(self, places: Iterable[int], more: int) -> set[int]:
        """Those in some places and in so many places before and after each."""
        wanted = {place + step * _STRETCHES for place in places for step in range(-more, more + 1)}
        self._see_places(wanted)
        return set[int]().union(*map(self._members.__getitem__, wanted))


def _place(leaf: int, stretch: int) -> int:
    return leaf // PLACE * _STRETCHES + stretch
