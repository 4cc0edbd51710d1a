"""A search over tables: what the search in a process looks at, here read when it is looked at.

Each of these is what it stands for (the leaves that have a word, what somebody said, what a filter allows),
so the search is the same, and so is what it finds. What is large is never read whole where only what it has
in common with something small is asked for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Set
from math import inf
from typing import Any, TypeVar

from quire.memory.index.lasting.sight import Fact, Sight
from quire.memory.index.orders import Rank
from quire.memory.ranking.postings import NOBODY, REACH, Times
from quire.memory.ranking.weights import OFFSETS, in_grains

_STRETCHES = 1 << 64
_Made = TypeVar("_Made")

Holds = Callable[[Fact], object]
"""Whether something holds, by what is known of a leaf."""


class Bearing(Mapping[int, Times]):
    """The leaves that have a word, each with how often."""

    def __init__(self, sight: Sight, beside: "Beside", word: str, number: int, count: int) -> None:
        self._sight, self._beside = sight, beside
        self._word, self._number, self._count = word, number, count
        self._all: dict[int, Times] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, leaf: int) -> Times:
        if self._all is not None:
            return self._all[leaf]
        return self._sight.words((leaf,))[leaf][self._word]

    def __iter__(self) -> Iterator[int]:
        found = self.all()
        self._beside.soon = found.keys()
        return iter(found)

    def keys(self) -> "KeysView[int]":
        return _Bearers(self)

    def all(self) -> dict[int, Times]:
        """All of them, read from the table."""
        if self._all is None:
            query = "SELECT leaf, stretch, told, asked FROM postings WHERE term = ?"
            rows = self._sight.asked.rows(query, self._number)
            self._beside.have_place((row[0], row[1]) for row in rows)
            self._all = {row[0]: (row[2], row[3]) for row in rows}
        return self._all

    def among(self, others: Set[int]) -> set[int]:
        """Those of some leaves that have the word."""
        if isinstance(others, Such):
            found = others & self.all().keys()
        elif self._all is None and len(others) < self._count:
            words = self._sight.words(others)
            found = {other for other in others if self._word in words[other]}
        else:
            found = set(others & self.all().keys())
        self._beside.soon = found
        return found


class _Bearers(KeysView[int]):
    def __init__(self, bearing: Bearing) -> None:
        super().__init__(bearing)
        self._bearing = bearing

    def __and__(self, others: Iterable[Any]) -> set[int]:
        assert isinstance(others, Set)
        return self._bearing.among(others)


class Beside:
    """Who stands beside whom: whom a leaf lends to, its place, and what is in and around places."""

    def __init__(self, sight: Sight, place: int) -> None:
        self._sight, self._place = sight, place
        self.soon: Iterable[int] = ()
        """Those that are looked at next, one by one: all are read with the first."""
        self.lends_to = Filled[tuple[int, ...]](self._lent)
        self.length = Filled[float](self._length)
        self.share = Filled[float](self._share)
        self.place_of = Filled[int](self._placed)
        self.newest_in = Filled[Rank](self._newest)
        self._seen_places: Set[int] = frozenset()

    def _fact(self, leaf: int) -> Fact:
        if leaf not in self._sight.facts:
            self._sight.see({near + step for near in (leaf, *self.soon) for step in (0, *OFFSETS)})
        return self._sight.facts[leaf]

    def _lent(self, leaf: int) -> tuple[int, ...]:
        if self.soon:
            self._sight.see({near + step for near in self.soon for step in (0, *OFFSETS)})
            self.soon = ()
        facts, stretch = self._sight.facts, self._sight.facts[leaf].stretch
        beside = (facts.get(leaf + step) for step in OFFSETS)
        return (leaf, *(one.number if one and one.stretch == stretch else NOBODY for one in beside))

    def _length(self, leaf: int) -> float:
        return self._fact(leaf).length

    def _share(self, leaf: int) -> float:
        return in_grains(min(1.0, REACH / max(1, self._fact(leaf).size)))

    def _placed(self, leaf: int) -> int:
        return leaf // self._place * _STRETCHES + self._fact(leaf).stretch

    def have_place(self, leaves: Iterable[tuple[int, int]]) -> None:
        """Leaves with their stretches, of which nothing more need be known to place them."""
        place = self._place
        self.place_of.update((leaf, leaf // place * _STRETCHES + stretch) for leaf, stretch in leaves)

    def _newest(self, place: int) -> Rank:
        first, stretch = place // _STRETCHES * self._place, place % _STRETCHES
        if first not in self._seen_places:
            self._see_places({*self.place_of.values(), place})
        facts, newest, at = self._sight.facts, first, -inf
        for leaf in range(first, first + self._place):  # written out: there may be thousands of equals
            fact = facts.get(leaf)
            if fact is not None and fact.stretch == stretch and fact.at >= at:
                newest, at = leaf, fact.at
        return self._sight.rank(newest)

    def _see_places(self, places: Set[int]) -> None:
        self._seen_places = {place // _STRETCHES * self._place for place in places}
        self._sight.see(first + step for first in self._seen_places for step in range(self._place))

    def widened(self, places: Iterable[int], more: int) -> set[int]:
        """Those in some places and in so many places before and after each."""
        wanted = [(range(*self._bounds(place, more)), place % _STRETCHES) for place in places]
        facts = self._sight.see({leaf for leaves, _ in wanted for leaf in leaves})
        return {
            leaf
            for leaves, stretch in wanted
            for leaf in leaves
            if leaf in facts and facts[leaf].stretch == stretch
        }

    def _bounds(self, place: int, more: int) -> tuple[int, int]:
        nth = place // _STRETCHES
        return (nth - more) * self._place, (nth + more + 1) * self._place


class Filled(dict[int, _Made]):
    """A dictionary in which everything is, once it is asked for."""

    def __init__(self, made: Callable[[int], _Made]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, key: int) -> _Made:
        self[key] = made = self._made(key)
        return made


class Such(Set[int]):
    """The leaves of which something holds that their facts tell."""

    def __init__(self, sight: Sight, holds: Holds, where: str, values: tuple[object, ...]) -> None:
        self._sight, self._holds, self._where, self._values = sight, holds, where, values

    def __contains__(self, leaf: object) -> bool:
        if not isinstance(leaf, int):
            return False
        fact = self._sight.facts.get(leaf) or self._sight.see((leaf,)).get(leaf)
        return fact is not None and bool(self._holds(fact))

    def __iter__(self) -> Iterator[int]:
        rows = self._sight.asked.rows(f"SELECT number FROM leaves WHERE {self._where}", *self._values)
        return (row[0] for row in rows)

    def __len__(self) -> int:
        query = f"SELECT count(*) FROM leaves WHERE {self._where}"
        return int(self._sight.asked.rows(query, *self._values)[0][0])

    def __and__(self, others: Iterable[Any]) -> set[int]:
        wanted = list(others)
        facts = self._sight.see(wanted)
        return {leaf for leaf in wanted if leaf in facts and self._holds(facts[leaf])}


class Counted:
    """The words of a question as they stand in all leaves together."""

    def __init__(self, sight: Sight, beside: Beside, words: Mapping[str, tuple[int, int, int]]) -> None:
        self.leaves_with = {
            word: Bearing(sight, beside, word, number, leaves) for word, (number, leaves, _) in words.items()
        }
        self.carriers = Counter({word: carriers for word, (_, _, carriers) in words.items()})
        self.total = sight.scope.total
        self.lends_to, self.share, self.length = beside.lends_to, beside.share, beside.length
        self._count = sight.scope.leaves

    def __len__(self) -> int:
        return self._count
