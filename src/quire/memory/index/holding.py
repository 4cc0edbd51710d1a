"""What an index in this process holds: leaves by number, their words, places, speakers and orders."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set, Sized
from typing import NamedTuple, TypeVar

from quire.memory.index.index import Only
from quire.memory.index.orders import Orders
from quire.memory.index.rows import Rows
from quire.memory.leaf import Kind, Leaf, parts_read
from quire.memory.ranking import Weights
from quire.memory.ranking.names import IN_THE_BEGINNING, as_name
from quire.memory.ranking.postings import Postings
from quire.memory.ranking.sentences import says_time, told_and_asked
from quire.memory.ranking.vectors import unit
from quire.memory.words import terms

MOST_TERMS = 2_000
"""In a text of more terms than this each counts once: a log says the same again and again."""

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept", bound=Sized)


class Read(NamedTuple):
    """What an index has of a leaf: the terms of its statements and of its questions, and what cues need.

    `named` are those of what its document is called and of the headings above it.
    """

    named: list[str]
    told: list[str]
    asked: list[str]
    asks: bool
    says_time: bool


def read_words(leaf: Leaf) -> Read:
    """A leaf as it is looked for."""
    start = leaf.named + leaf.under
    named = _names(leaf, leaf.text[:start]) if start else []
    text = leaf.text[start:]
    said, asked = told_and_asked("\n".join(text[start:end] for start, end in parts_read(text)))
    told, questions = _bounded_terms(terms(said)), _bounded_terms(terms(asked))
    return Read(named, told, questions, len(asked) > len(said), says_time({*told, *questions}))


class Holding:
    """Leaves, and all that is known of them for a search; not for two threads at once."""

    def __init__(self, weights: Weights) -> None:
        self.leaves: dict[int, Leaf] = {}
        self.postings = Postings(weights)
        self.rows = Rows()
        self.vectors: dict[int, array[float]] = {}
        self.speakers: defaultdict[str, set[int]] = defaultdict(set)
        self.asking: set[int] = set()
        self.timed: set[int] = set()
        self.orders = Orders()
        self._sources: defaultdict[str, Orders] = defaultdict(Orders)
        self._keyed: dict[tuple[str, str], dict[str, int]] = {}  # by source and key: its number by transcript
        self._transcripts: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._kinds: defaultdict[Kind, set[int]] = defaultdict(set)
        self._last = 0

    def put(self, leaf: Leaf, vector: Sequence[float] | None) -> None:
        """Take in a leaf; who had its key or stood in its place goes."""
        same = self._keyed.get((leaf.source, leaf.key), {}).get(leaf.transcript)
        for number in {same, self.rows.standing(leaf)}:
            if number is not None:
                self._let_go(number)
        self._last += 1
        self._keyed.setdefault((leaf.source, leaf.key), {})[leaf.transcript] = self._last
        self._transcripts[leaf.source, leaf.transcript].add(self._last)
        self.leaves[self._last] = leaf
        self._list(leaf, self._last)
        if vector is not None:
            self.vectors[self._last] = unit(vector)

    def _list(self, leaf: Leaf, number: int) -> None:
        read = read_words(leaf)
        row = self.rows.add(leaf, number)
        self.postings.add(number, row, leaf.order, [*read.named, *read.told], read.asked)
        self.orders.add(leaf, number)
        self._kinds[leaf.kind].add(number)
        self._sources[leaf.source].add(leaf, number)
        for name in terms(leaf.speaker):
            self.speakers[name].add(number)
        if read.asks:
            self.asking.add(number)
        if read.says_time:
            self.timed.add(number)

    def set_vector(self, leaf: Leaf, vector: Sequence[float]) -> None:
        """Keep a vector for a leaf, if that is what is here."""
        number = self._keyed.get((leaf.source, leaf.key), {}).get(leaf.transcript)
        if number is not None and self.leaves[number] == leaf:
            self.vectors[number] = unit(vector)

    def vectors_of(self, numbers: Sequence[int]) -> dict[int, "array[float]"]:
        """The vectors of those that have one."""
        return {number: self.vectors[number] for number in numbers if number in self.vectors}

    def numbered(self, keys: Iterable[tuple[str, str]]) -> Set[int]:
        """The numbers of leaves that are here, by their sources and keys."""
        return {number for key in keys for number in self._keyed.get(key, {}).values()}

    def remove(self, source: str, key: str) -> None:
        """Let go of a leaf in all transcripts of a source, where it is in one."""
        for number in list(self._keyed.get((source, key), {}).values()):
            self._let_go(number)

    def drop(self, source: str, transcript: str | None) -> None:
        """Let go of all leaves of a source, or of one of its transcripts."""
        if transcript is not None:
            numbers = list(self._transcripts.get((source, transcript), ()))
        else:
            numbers = list(self._sources[source].newest_first()) if source in self._sources else []
        for number in numbers:
            self._let_go(number)

    def _let_go(self, number: int) -> None:
        leaf = self.leaves.pop(number)
        self.postings.remove(number, self.rows.row_of(leaf), leaf.order)
        self.rows.remove(leaf, number, map(self.leaves.__getitem__, self.rows.of_place(leaf)))
        self.orders.remove(leaf, number)
        self._kinds[leaf.kind].remove(number)
        self._sources[leaf.source].remove(leaf, number)
        self._transcripts[leaf.source, leaf.transcript].remove(number)
        del self._keyed[leaf.source, leaf.key][leaf.transcript]
        _without_empty(self._keyed, (leaf.source, leaf.key))
        _without_empty(self._transcripts, (leaf.source, leaf.transcript))
        _without_empty(self._sources, leaf.source)
        self._forget_cues(leaf, number)

    def _forget_cues(self, leaf: Leaf, number: int) -> None:
        for name in set(terms(leaf.speaker)):
            self.speakers[name].discard(number)
            _without_empty(self.speakers, name)
        self.asking.discard(number)
        self.timed.discard(number)
        self.vectors.pop(number, None)

    def allowed(self, only: Only) -> Set[int]:
        """The numbers of all that may come back."""
        found: Set[int] = self.leaves.keys()
        if only.sources is not None:
            found = set[int]().union(
                *(self._sources[one].rank for one in only.sources & self._sources.keys())
            )
        if only.kinds is not None:
            found = found & set[int]().union(*(self._kinds[kind] for kind in only.kinds & self._kinds.keys()))
        return found if only.span is None else found & set(self.orders.oldest_first(only.span))

    def newest_first(self, only: Only | None) -> Iterator[Leaf]:
        """What may come back, from the newest on."""
        span = only.span if only else None
        return self._allowed(self._among(only).newest_first(span), only)

    def weightiest_first(self, only: Only | None) -> Iterator[Leaf]:
        """What may come back, from what matters most on."""
        return self._allowed(self._among(only).weightiest_first(), only)

    def _among(self, only: Only | None) -> Orders:
        """Where to look: a single source has orders of its own, so that others cost nothing."""
        if only is None or only.sources is None or len(only.sources) != 1:
            return self.orders
        return self._sources.get(next(iter(only.sources))) or Orders()

    def _allowed(self, numbers: Iterator[int], only: Only | None) -> Iterator[Leaf]:
        found = map(self.leaves.__getitem__, numbers)
        return found if only is None else filter(only.allows, found)

    def around(self, leaf: Leaf, before: int, after: int) -> Iterator[Leaf]:
        """The leaves beside one, in order."""
        numbers = self.rows.between(leaf, leaf.order - before, leaf.order + after + 1)
        return (self.leaves[number] for number in numbers if self.leaves[number].order != leaf.order)


def _names(leaf: Leaf, called: str) -> list[str]:
    """The words of a name, each once; they are read in the language of what is said."""
    found = dict.fromkeys(map(as_name, terms(called, like=leaf.text)))
    return list(found) * (IN_THE_BEGINNING if leaf.is_beginning else 1)


def _bounded_terms(found: list[str]) -> list[str]:
    return found if len(found) <= MOST_TERMS else list(dict.fromkeys(found))


def _without_empty(kept: dict[_Key, _Kept], key: _Key) -> None:
    """Nothing stays of what is gone, also not that it was."""
    if not kept[key]:
        del kept[key]
