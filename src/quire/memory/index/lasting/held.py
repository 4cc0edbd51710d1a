"""What is held of a scope, as far as a question needs it: in tables, where it was in memory."""

from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import cast

from quire.memory.index.holding import Holding
from quire.memory.index.index import Only
from quire.memory.index.lasting.beside import Filled
from quire.memory.index.lasting.facts import Fact
from quire.memory.index.lasting.known import source_numbers
from quire.memory.index.lasting.looking import Counted, Holds, Such
from quire.memory.index.lasting.sight import Sight
from quire.memory.index.lasting.speaking import spoken_by
from quire.memory.index.lasting.tables import address
from quire.memory.index.orders import Rank
from quire.memory.ranking import Question, Weights
from quire.memory.ranking.scoring import stand_ins


class Held:
    """What a search asks of what is held, for one question in one moment."""

    def __init__(self, sight: Sight, question: Question, weights: Weights) -> None:
        self._sight, self._scope = sight, sight.scope.number
        self.leaves = sight.facts
        self.rows = sight.beside
        self.postings = Counted(sight, self._words(question, weights))
        said = spoken_by(sight.asked, sight.scope, question.terms)
        self.speakers = {name: _Said(sight, speakers) for name, speakers in said.items()}
        self.asking = self._such("asks = 1", lambda fact: fact.asks)
        self.timed = self._such("timed = 1", lambda fact: fact.timed)
        self.orders = _Orders(sight)

    def as_holding(self) -> Holding:
        """The same to those who only look: it has all that a search uses."""
        return cast("Holding", self)

    def allowed(self, only: Only) -> Such:
        """All that may come back."""
        where, values = filtered(self._sight, only)
        sources = None if only.sources is None else set(_sources(self._sight, only))

        def holds(fact: Fact) -> bool:
            is_wanted = sources is None or fact.source in sources
            is_kind = only.kinds is None or fact.kind in only.kinds
            return is_wanted and is_kind and (only.span is None or only.span[0] <= fact.at < only.span[1])

        return Such(self._sight, holds, where, values)

    def numbered(self, keys: Iterable[tuple[str, str]]) -> set[int]:
        """The numbers of leaves that are here, by their sources and keys."""
        query = "SELECT number FROM leaves WHERE source IN (??) AND address = ?"
        return {
            row[0]
            for source, key in keys
            for row in self._sight.asked.rows(
                query, source_numbers(self._sight.asked, self._scope, (source,)), address(key)
            )
        }

    def vectors_of(self, numbers: Sequence[int]) -> dict[int, "array[float]"]:
        """The vectors of those that have one."""
        if not self._sight.scope.vectors:
            return {}
        query = "SELECT number, vector FROM bodies WHERE vector IS NOT NULL AND number IN (??)"
        found = {
            number: array("f", bytes(vector))
            for number, vector in self._sight.asked.rows(query, list(numbers))
        }
        return {number: found[number] for number in numbers if number in found}

    def _such(self, where: str, holds: Holds) -> Such:
        return Such(self._sight, holds, f"scope = ? AND {where}", (self._scope,))

    def _words(self, question: Question, weights: Weights) -> dict[str, tuple[int, int, int]]:
        """Of each word of a question, and of those that may stand for it: what is counted of it."""
        others = (other for word in question.terms for other, _ in stand_ins(word, weights))
        words = {address(word): word for word in (*question.terms, *question.dated.beside, *others)}
        query = "SELECT address, number, leaves, carriers FROM terms WHERE scope = ? AND address IN (??)"
        rows = self._sight.asked.rows(query, self._scope, list(words))
        return {words[row[0]]: (row[1], row[2], row[3]) for row in rows}


def filtered(sight: Sight, only: Only | None) -> tuple[str, tuple[object, ...]]:
    """What a filter is in a statement, and its values. A single source has orders of its own."""
    sources = None if only is None or only.sources is None else _sources(sight, only)
    where = ["leaves.scope = ?"]
    values: list[object] = [sight.scope.number]
    if sources is not None and len(sources) == 1:
        where, values = ["leaves.source = ?"], list[object](sources)
    elif sources is not None:
        where.append("leaves.source IN (??)")
        values.append(sources)
    if only is not None and only.kinds is not None:
        where.append("kind IN (??)")
        values.append(sorted(only.kinds))
    if only is not None and only.span is not None:
        where.append("at >= ? AND at < ?")
        values += only.span
    return " AND ".join(where), tuple(values)


def _sources(sight: Sight, only: Only) -> list[int]:
    return source_numbers(sight.asked, sight.scope.number, only.sources or ())


class _Said(Such):
    """What those said who have a name."""

    def __init__(self, sight: Sight, speakers: dict[int, int]) -> None:
        super().__init__(sight, lambda fact: fact.speaker in speakers, "speaker IN (??)", (list(speakers),))
        self._count = sum(speakers.values())

    def __len__(self) -> int:
        return self._count


class _Orders:
    """Leaves by time."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self.rank = Filled[Rank](sight.rank)

    def oldest_first(self, span: tuple[float, float] | None = None) -> Iterator[int]:
        if span is None:
            return self._sight.oldest_first()
        where, values = filtered(self._sight, Only(span=span))
        return self._sight.in_order(where, "at", values)

    def during(self, span: tuple[float, float]) -> "_During":
        return _During(self._sight, span)

    def newest_first(self, span: tuple[float, float] | None = None) -> Iterator[int]:
        where, values = filtered(self._sight, Only(span=span))
        return self._sight.in_order(where, "at DESC", values)


class _During(Such):
    """The leaves of a span of time."""

    def __init__(self, sight: Sight, span: tuple[float, float]) -> None:
        where, values = filtered(sight, Only(span=span))
        super().__init__(sight, lambda fact: span[0] <= fact.at < span[1], where, values)
        self._count = super().__len__()

    def __len__(self) -> int:
        return self._count

    def narrow(self, leaves: Set[int]) -> Set[int]:
        """Those of some leaves that are of the span."""
        if self._count < len(leaves):
            return leaves & self._all
        return self & leaves if isinstance(leaves, set) else leaves & self

    @cached_property
    def _all(self) -> set[int]:
        return set(self)
