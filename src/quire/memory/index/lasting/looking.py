"""A search over tables: what the search in a process looks at, here read when it is looked at.

Each of these is what it stands for (the leaves that have a word, what somebody said, what a filter allows),
so the search is the same, and so is what it finds. What is large is never read whole where only what it has
in common with something small is asked for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Set
from typing import Any

from quire.memory.index.lasting.bearers import Bearers
from quire.memory.index.lasting.facts import Fact
from quire.memory.index.lasting.sight import Sight
from quire.memory.ranking.postings import Times

Holds = Callable[[Fact], object]
"""Whether something holds, by what is known of a leaf."""


class Bearing(Mapping[int, Times]):
    """The leaves that have a word, each with how often."""

    def __init__(self, sight: Sight, word: str, number: int, count: int) -> None:
        self._sight, self._word, self._number, self._count = sight, word, number, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, leaf: int) -> Times:
        return self._all()[leaf]

    def __iter__(self) -> Iterator[int]:
        found, beside = self._all(), self._sight.beside
        if not found.is_placed:
            beside.have_place(zip(found.leaves, found.stretches, strict=True))
            found.is_placed = True
        beside.soon = found.leaves
        return iter(found)

    def keys(self) -> "KeysView[int]":
        return _Bearers(self)

    def _all(self) -> Bearers:
        return self._sight.bearers(self._word, self._number)

    def among(self, others: Set[int]) -> set[int]:
        """Those of some leaves that have the word."""
        found = others & self._all().keys() if isinstance(others, Such) else self._all().among(others)
        self._sight.beside.soon = found
        return found


class _Bearers(KeysView[int]):
    def __init__(self, bearing: Bearing) -> None:
        super().__init__(bearing)
        self._bearing = bearing

    def __and__(self, others: Iterable[Any]) -> set[int]:
        assert isinstance(others, Set)
        return self._bearing.among(others)


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

    def __init__(self, sight: Sight, words: Mapping[str, tuple[int, int, int]]) -> None:
        self.leaves_with = {
            word: Bearing(sight, word, number, leaves) for word, (number, leaves, _) in words.items()
        }
        self.carriers = Counter({word: carriers for word, (_, _, carriers) in words.items()})
        self.total = sight.scope.total
        beside = sight.beside
        self.lends_to, self.share, self.length = beside.lends_to, beside.share, beside.length
        self._count = sight.scope.leaves

    def __len__(self) -> int:
        return self._count
