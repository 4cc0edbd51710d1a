"""What is seen of a scope in one moment: facts of leaves, read in bulk when the first is looked at."""

from collections.abc import Iterable, Iterator, Sequence

from quire.memory.index.lasting.bearers import Bearers, read_bearers
from quire.memory.index.lasting.beside import Beside
from quire.memory.index.lasting.facts import COLUMNS, Fact
from quire.memory.index.lasting.known import Scope, read_words
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, told
from quire.memory.index.orders import Rank

_LEAST_READ = 250
_MOST_KEPT = 200_000
"""Leaves of which facts are held in memory between searches."""

_MOST_BEARERS = 4_000_000
"""Words of leaves that are held in memory, twenty bytes for each: words are asked for again and again."""


_FACTS_OF_A_LEAF, _BEARERS_OF_A_LEAF = 8, 175
"""So many of each take as much memory as one leaf in an index that has all of it there."""


class Sight:
    """One scope, within one transaction after another. What did not change since is not read again."""

    def __init__(self, asked: Asked, scope: Scope) -> None:
        self.asked, self.scope = asked, scope
        self.facts: dict[int, Fact] = {}
        self.beside = Beside(self)
        self._looked_at: set[int] = set()
        self._bearers: dict[str, Bearers] = {}
        self._bearing = 0
        self._names: dict[int, tuple[str, str]] = {}
        self._oldest: list[int] = []

    @property
    def weight(self) -> int:
        """What is held in memory, in leaves."""
        return len(self._looked_at) // _FACTS_OF_A_LEAF + self._bearing // _BEARERS_OF_A_LEAF

    def renewed(self, asked: Asked, scope: Scope) -> "Sight":
        """What is seen now."""
        is_another = scope.number != self.scope.number or scope.shrunk > self.scope.changes
        if is_another or len(self._looked_at) > _MOST_KEPT:
            return Sight(asked, scope)
        last, self.asked, self.scope = self.scope.changes, asked, scope
        if self._bearing > _MOST_BEARERS:
            self._bearers, self._bearing = {}, 0
        if scope.changes != last:
            self._take_in(last)
        return self

    def _take_in(self, last: int) -> None:
        query = f"SELECT {COLUMNS} FROM leaves WHERE scope = ? AND changed > ?"
        changed = [Fact._make(row) for row in self.asked.rows(query, self.scope.number, last)]
        if self._oldest and changed:
            end = self.facts[self._oldest[-1]].at
            if any(fact.at <= end for fact in changed):
                self._oldest = []
        self.beside.let_go(changed)
        for fact in changed:
            if fact.number in self._looked_at:
                self.facts[fact.number] = fact
        if self._bearers:
            self._take_in_words(changed)

    def _take_in_words(self, changed: Sequence[Fact]) -> None:
        """Nothing lost a word, or all would be read anew."""
        query = "SELECT number, words FROM bodies WHERE number IN (??)"
        words = {
            row[0]: read_words(row[1]) for row in self.asked.rows(query, [one.number for one in changed])
        }
        for fact in changed:
            for word, times in words[fact.number].items():
                if word in self._bearers:
                    self._bearers[word].put(fact.number, (fact.stretch, *times))

    def bearers(self, word: str, number: int) -> Bearers:
        """The leaves that have a word, by the number of the word."""
        if word not in self._bearers:
            found = self._bearers[word] = read_bearers(self.asked, number)
            self._bearing += len(found)
        return self._bearers[word]

    def see(self, numbers: Iterable[int]) -> dict[int, Fact]:
        """All facts that are known, those of some leaves among them, as far as they are there."""
        new = set(numbers) - self._looked_at
        if new:
            self._looked_at |= new
            rows = self.asked.rows(f"SELECT {COLUMNS} FROM leaves WHERE number IN (??)", sorted(new))
            self.facts.update((row[0], Fact._make(row)) for row in rows)
        return self.facts

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
            f"SELECT {COLUMNS} FROM leaves LEFT JOIN sources ON sources.number = leaves.source"
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
