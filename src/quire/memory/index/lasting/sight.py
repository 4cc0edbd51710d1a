"""What is seen of a scope in one moment: facts of leaves, read in bulk when the first is looked at."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.memory.index.lasting.known import Scope, Words, read_words
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, told
from quire.memory.index.orders import Rank
from quire.memory.leaf import Kind

_FACTS = "leaves.number, leaves.source, stretch, at, kind, speaker, asks, timed, size, length"
_LEAST_READ = 250
_MOST_KEPT = 300_000
"""Leaves of which facts are held in memory between searches."""


class Fact(NamedTuple):
    """What a search needs to know of a leaf; what it says is not among it."""

    number: int
    source: int
    stretch: int
    at: float
    kind: Kind
    speaker: int
    asks: int
    timed: int
    size: int
    length: float

    @property
    def order(self) -> int:
        return self.number & ((1 << ORDER_BITS) - 1)


class Sight:
    """One scope, within one transaction after another. What did not change since is not read again."""

    def __init__(self, asked: Asked, scope: Scope) -> None:
        self.asked, self.scope = asked, scope
        self.facts: dict[int, Fact] = {}
        self._looked_at: set[int] = set()
        self._words: dict[int, Words] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._oldest: list[int] = []

    def renewed(self, asked: Asked, scope: Scope) -> "Sight":
        """What is seen now."""
        is_another = scope.number != self.scope.number or scope.shrunk > self.scope.changes
        if is_another or len(self._looked_at) > _MOST_KEPT:
            return Sight(asked, scope)
        last, self.asked, self.scope = self.scope.changes, asked, scope
        if scope.changes != last:
            self._take_in(last)
        return self

    def _take_in(self, last: int) -> None:
        query = f"SELECT {_FACTS} FROM leaves WHERE scope = ? AND changed > ?"
        changed = [Fact._make(row) for row in self.asked.rows(query, self.scope.number, last)]
        if self._oldest and changed:
            end = self.facts[self._oldest[-1]].at
            if any(fact.at <= end for fact in changed):
                self._oldest = []
        for fact in changed:
            self._words.pop(fact.number, None)
            if fact.number in self._looked_at:
                self.facts[fact.number] = fact

    def see(self, numbers: Iterable[int]) -> dict[int, Fact]:
        """All facts that are known, those of some leaves among them, as far as they are there."""
        new = set(numbers) - self._looked_at
        if new:
            self._looked_at |= new
            rows = self.asked.rows(f"SELECT {_FACTS} FROM leaves WHERE number IN (??)", sorted(new))
            self.facts.update((row[0], Fact._make(row)) for row in rows)
        return self.facts

    def words(self, numbers: Iterable[int]) -> dict[int, Words]:
        """All words that are known, those of some leaves among them."""
        new = [number for number in numbers if number not in self._words]
        if new:
            rows = self.asked.rows("SELECT number, words FROM bodies WHERE number IN (??)", new)
            self._words.update((number, read_words(words)) for number, words in rows)
        return self._words

    def rank(self, number: int) -> Rank:
        """Where a leaf stands in time."""
        fact = self.facts.get(number) or self.see((number,))[number]
        return (fact.at, *self._name(number >> ORDER_BITS), fact.order)

    def _name(self, transcript: int) -> tuple[str, str]:
        if transcript not in self._names:
            query = (
                "SELECT sources.name, transcripts.name FROM transcripts"
                " JOIN sources ON sources.number = source WHERE transcripts.number = ?"
            )
            ((source, name),) = self.asked.rows(query, transcript)
            self._names[transcript] = told(source), told(name)
        return self._names[transcript]

    def oldest_first(self) -> Iterator[int]:
        """All leaves, by time; the first of them are looked at again and again."""
        yield from self._oldest
        where = "leaves.scope = ?"
        for number in self.in_order(where, "at", (self.scope.number,), skipped=len(self._oldest)):
            self._oldest.append(number)
            yield number

    def in_order(
        self, where: str, order: str, values: Sequence[object], limit: int | None = None, skipped: int = 0
    ) -> Iterator[int]:
        """Numbers of leaves in an order, a page after another, as far as somebody wants them."""
        descending = " DESC" if order.endswith(" DESC") else ""
        query = (
            f"SELECT {_FACTS} FROM leaves LEFT JOIN sources ON sources.number = leaves.source"
            f" LEFT JOIN transcripts ON transcripts.number = leaves.number >> {ORDER_BITS}"
            f" WHERE {where} ORDER BY {order}, sources.name{descending}, transcripts.name{descending},"
            f" leaves.number{descending} LIMIT ? OFFSET ?"
        )
        done, page = skipped, limit or _LEAST_READ
        while rows := self.asked.rows(query, *values, page, done):
            self._looked_at.update(row[0] for row in rows)
            self.facts.update((row[0], Fact._make(row)) for row in rows)
            yield from (row[0] for row in rows)
            done += len(rows)
            if len(rows) < page or limit is not None:
                return
            page *= 2  # few pages, however many are wanted, and not many too many
