"""An index in tables. What it finds is what one in a process finds that has the same leaves."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from threading import RLock
from typing import TypeVar
from weakref import finalize

from quire.errors import InvalidLimit, InvalidValue, StoreError
from quire.memory.index.found import Found
from quire.memory.index.index import MOST_HITS, Index, Only
from quire.memory.index.lasting.changing import embed, put
from quire.memory.index.lasting.held import Held, filtered
from quire.memory.index.lasting.known import (
    Scope,
    bodies_of,
    made_scope,
    numbered,
    scope_of,
    source_numbers,
    transcript_number,
)
from quire.memory.index.lasting.marks import Marks
from quire.memory.index.lasting.removing import dropped, is_unclean, removed, was_wiped
from quire.memory.index.lasting.sight import Sight
from quire.memory.index.lasting.tables import Asked, Tables, address
from quire.memory.index.searching import search
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question, Weights
from quire.memory.words import dialect

_Result = TypeVar("_Result")


class Lasting(Index):
    """One scope in tables that may hold several, and that other processes may use at the same time.

    What was dropped is wiped when the place it is of is marked anew: so once for all that goes together.
    """

    def __init__(self, tables: Tables, scope: str, weights: Weights | None = None) -> None:
        self._tables, self._scope, self._dialect = tables, address(scope), dialect()
        self._weights = weights or Weights()
        self._marks = Marks(tables, self._scope, self._dialect)
        self._lock = RLock()
        self.sight: Sight | None = None
        """What is held in memory of the tables, once they were looked at."""
        self._closing = finalize(self, _close, tables)
        self._wipe()

    def __len__(self) -> int:
        return self._seen(lambda sight: sight.scope.leaves, 0)

    def put(
        self,
        leaves: Sequence[Leaf],
        *,
        vectors: Sequence[Sequence[float]] | None = None,
        mark: tuple[str, bytes] | None = None,
    ) -> None:
        if vectors is not None and len(vectors) != len(leaves):
            raise InvalidValue(f"{len(vectors)} vectors for {len(leaves)} leaves")

        def work(asked: Asked, scope: Scope) -> None:
            put(asked, scope, leaves, vectors, self._weights)
            if mark is not None:
                self._marks.set(asked, scope, *mark)

        self._change(work, mark)

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        self._change(lambda asked, scope: embed(asked, scope, leaves, vectors))

    def remove(self, source: str, keys: Collection[str]) -> None:
        self._take(lambda asked: removed(asked, self._scope, source, keys, self._weights))

    def drop(self, source: str, transcript: str | None = None) -> None:
        self._take(lambda asked: dropped(asked, self._scope, source, transcript, self._weights))

    def search(self, question: Question, *, limit: int = MOST_HITS, only: Only | None = None) -> Found:
        _check(limit)
        nothing = Found(question, (), self.around)
        return self._seen(lambda sight: self._found(sight, question, limit, only), nothing)

    def _found(self, sight: Sight, question: Question, limit: int, only: Only | None) -> Found:
        held = Held(sight, question, self._weights).as_holding()
        hits, how, lacking = search(held, self._weights, question, limit, only)
        leaves = bodies_of(sight.asked, [number for number, _ in hits])
        best = zip(leaves, (score for _, score in hits), strict=True)
        return Found(question, best, self.around, how, bodies_of(sight.asked, lacking))

    def newest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        return self._ordered("at DESC", limit, only)[::-1]

    def weightiest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        return self._ordered("importance DESC, at DESC", limit, only)

    def _ordered(self, order: str, limit: int, only: Only | None) -> list[Leaf]:
        _check(limit)

        def work(sight: Sight) -> list[Leaf]:
            where, values = filtered(sight, only)
            return bodies_of(sight.asked, list(sight.in_order(where, order, values, limit)))

        return self._seen(work, [])

    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        def work(sight: Sight) -> list[Leaf]:
            sources = source_numbers(sight.asked, sight.scope.number, (leaf.source,))
            transcript = transcript_number(sight.asked, sources[0], leaf.transcript) if sources else None
            if transcript is None:
                return []
            orders = range(max(0, leaf.order - before), leaf.order + after + 1)
            numbers = [numbered(transcript, order) for order in orders if order != leaf.order]
            facts = sight.see(numbers)
            beside = [one for one in numbers if one in facts and facts[one].stretch == leaf.stretch]
            return bodies_of(sight.asked, beside)

        return self._seen(work, [])

    def mark(self, place: str) -> bytes | None:
        with self._lock:
            return self._marks.known().get(place)

    def set_mark(self, place: str, mark: bytes | None) -> None:
        with self._lock:
            if mark is not None or place in self._marks.all():
                self._change(lambda asked, scope: self._marks.set(asked, scope, place, mark), (place, mark))
            self._wipe()

    def marked(self) -> list[str]:
        with self._lock:
            return list(self._marks.all())

    def close(self) -> None:
        self._closing.detach()
        self._tables.close()

    def _seen(self, work: Callable[[Sight], _Result], otherwise: _Result) -> _Result:
        def seen(asked: Asked) -> _Result:
            scope = scope_of(asked, self._scope, self._dialect)
            if scope is None:
                return otherwise
            sight, self.sight = self.sight, None  # not kept if reading fails midway
            sight = Sight(asked, scope) if sight is None else sight.renewed(asked, scope)
            result = work(sight)
            self.sight = sight
            return result

        with self._lock:
            return self._tables.read(seen)

    def _change(
        self, work: Callable[[Asked, Scope], None], mark: tuple[str, bytes | None] | None = None
    ) -> None:
        def changed(asked: Asked) -> int:
            scope = made_scope(asked, self._scope, self._dialect)
            work(asked, scope)
            asked.rows("UPDATE scopes SET changes = changes + 1 WHERE number = ?", scope.number)
            return scope.changes + 1

        with self._lock:
            changes = self._tables.write(changed)
            if mark is not None:
                self._marks.changed(changes, *mark)
                self._wipe()

    def _take(self, work: Callable[[Asked], None]) -> None:
        with self._lock:
            self._tables.write(work)

    def _wipe(self) -> None:
        if unclean := self._tables.read(is_unclean):
            self._tables.wipe()
            self._tables.write(lambda asked: was_wiped(asked, unclean))


def _check(limit: int) -> None:
    if limit < 0:
        raise InvalidLimit(f"a limit of {limit} leaves")


def _close(tables: Tables) -> None:
    with suppress(StoreError):
        tables.close()
