"""Where each word stands and who carries it: exact, however leaves come and go.

A leaf carries its own words and, with less weight, those of the leaves around it. Only own words are held;
what is lent is worked out when a question is asked. So a leaf that comes, changes or goes touches its
neighbours and nothing else. Leaves are numbers here, and what they are is known elsewhere.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from quire.memory.ranking.names import is_name
from quire.memory.ranking.weights import OFFSETS, Weights, in_grains

NOBODY = -1
REACH = 60
"""A leaf of more words than this lends each of them for less: no long result drowns its neighbours."""

LONGEST = 500
"""Words from which on a leaf counts as no longer: else no word of a long result would find it."""

Times = tuple[int, int]
"""How often a word stands in statements, and in questions."""

Row = dict[int, int]
"""Leaves that may be about the same, by their order."""


class Postings:
    """The words of numbered leaves, each with its row and its order in it."""

    def __init__(self, weights: Weights) -> None:
        self._lent = weights.lent()
        self.leaves_with: dict[str, dict[int, Times]] = {}
        self.carriers: Counter[str] = Counter()
        self.lends_to: dict[int, tuple[int, ...]] = {}
        self.share: dict[int, float] = {}
        self.length: dict[int, float] = {}
        self.total = 0.0
        self._words: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Times] = {}

    def __len__(self) -> int:
        return len(self._words)

    def words(self, leaf: int) -> tuple[str, ...]:
        """A leaf's own words, each once."""
        return self._words[leaf]

    def add(self, leaf: int, row: Row, order: int, told: Sequence[str], asked: Sequence[str]) -> None:
        """Take in a leaf with the words of its statements and of its questions; its place must be free."""
        bag = _times(told, asked)
        self._words[leaf] = tuple(bag)
        size = len(told) - sum(map(is_name, told))
        self._sizes[leaf] = min(size, LONGEST), min(len(asked), LONGEST)
        self.share[leaf] = in_grains(min(1.0, REACH / max(1, size + len(asked))))
        row[order] = leaf
        self._link(leaf, row, order)
        self._weigh(leaf, row, order, 1)
        self._carry(leaf, row, order, 1)
        for word, times in bag.items():
            self.leaves_with.setdefault(word, {})[leaf] = times

    def remove(self, leaf: int, row: Row, order: int) -> None:
        """Let go of a leaf: what is left is as if it had never been."""
        for word in self._words[leaf]:
            del self.leaves_with[word][leaf]
        self._carry(leaf, row, order, -1)
        self._weigh(leaf, row, order, -1)
        for slot, lender in _lenders(row, order):
            self._lend(lender, slot, NOBODY)
        for word in self._words[leaf]:
            if not self.leaves_with[word]:
                del self.leaves_with[word]
        del row[order], self.lends_to[leaf], self.share[leaf], self.length[leaf]
        del self._words[leaf], self._sizes[leaf]

    def _link(self, leaf: int, row: Row, order: int) -> None:
        self.lends_to[leaf] = (leaf, *(row.get(order + offset, NOBODY) for offset in OFFSETS))
        for slot, lender in _lenders(row, order):
            self._lend(lender, slot, leaf)

    def _lend(self, lender: int, slot: int, to: int) -> None:
        # Tuples, not lists: the collector of garbage lets go of them, and there is one for each leaf.
        known = self.lends_to[lender]
        self.lends_to[lender] = (*known[:slot], to, *known[slot + 1 :])

    def _weigh(self, leaf: int, row: Row, order: int, step: int) -> None:
        """Add or take away the lengths that a leaf has and gives."""
        own = self._size(0, leaf) + sum(self._size(slot, lender) for slot, lender in _lenders(row, order))
        self.length[leaf] = own
        self.total += step * own
        for slot, other in enumerate(self.lends_to[leaf][1:], 1):
            if other != NOBODY:
                more = step * self._size(slot, leaf)
                self.length[other] += more
                self.total += more

    def _size(self, slot: int, leaf: int) -> float:
        (by_told, by_asked), (told, asked) = self._lent[slot], self._sizes[leaf]
        return (self.share[leaf] if slot else 1.0) * (by_told * told + by_asked * asked)

    def _carry(self, leaf: int, row: Row, order: int, step: int) -> None:
        """Count those that carry a word with a leaf and not without it, while its words are not listed."""
        own, carriers = self._words[leaf], self.carriers
        for offset in OFFSETS:
            if order + offset in row:
                sources = set(_sources(row, order + offset))
                for word in own:
                    if _is_nowhere(self.leaves_with.get(word), sources):
                        carriers[word] += step
        lent = (self._words[lender] for _, lender in _lenders(row, order))
        for word in set(own).union(*lent):
            carriers[word] += step
            if not carriers[word]:
                del carriers[word]


def _times(told: Sequence[str], asked: Sequence[str]) -> dict[str, Times]:
    in_told, in_asked = Counter(told), Counter(asked)
    if not asked:
        return {word: _pair(count, 0) for word, count in in_told.items()}
    return {word: _pair(in_told[word], in_asked[word]) for word in {**in_told, **in_asked}}


@lru_cache(maxsize=4_096)
def _pair(told: int, asked: int) -> Times:
    return told, asked  # shared: there are very many, and nearly all are alike


def _lenders(row: Row, order: int) -> Iterator[tuple[int, int]]:
    """Who lends to the leaf at a place, each with the slot of the offset."""
    for slot, offset in enumerate(OFFSETS, 1):
        if (lender := row.get(order - offset)) is not None:
            yield slot, lender


def _sources(row: Row, order: int) -> Iterator[int]:
    """All whose words are carried at a place."""
    yield row[order]
    for _, lender in _lenders(row, order):
        yield lender


def _is_nowhere(leaves: Mapping[int, Times] | None, sources: set[int]) -> bool:
    return leaves is None or leaves.keys().isdisjoint(sources)
