"""An index in tables. What it finds is what one in a process finds that has the same leaves."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TypeVar
from weakref import finalize

from quire.errors import InvalidLimit, InvalidValue, StoreError
from quire.memory.index.found import Found
from quire.memory.index.index import MOST_HITS, Gone, Index, Only
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
from quire.memory.index.lasting.removing import count_change, is_unclean, taken, taken_here, was_wiped
from quire.memory.index.lasting.sight import Sight
from quire.memory.index.lasting.tables import Asked, Tables, address
from quire.memory.index.searching import search
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question, Weights
from quire.memory.words import dialect

_Result = TypeVar("_Result")


class Lasting(Index):
    """One scope in tables that may hold several, and that other processes may use at the same time.

    What was forgotten is wiped when the place it is of is marked anew: so once for all that goes together.
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

    def put(self, leaves: Sequence[Leaf], *, vectors: Sequence[Sequence[float]] | None = None) -> None:
        if vectors is not None and len(vectors) != len(leaves):
            raise InvalidValue(f"{len(vectors)} vectors for {len(leaves)} leaves")
        self._change(lambda asked, scope: put(asked, scope, leaves, vectors, self._weights))

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        self._change(lambda asked, scope: embed(asked, scope, leaves, vectors))

    def remove(self, source: str, keys: Collection[str]) -> None:
        self._take(Gone(source=source, keys=frozenset(keys)))

    def drop(self, source: str, transcript: str | None = None) -> None:
        self._take(Gone(source=source, transcript=transcript))

    def search(self, question: Question, *, limit: int = MOST_HITS, only: Only | None = None) -> Found:
        _check(limit)
        nothing = Found(question, (), self.around)
        return self._seen(lambda sight: self._found(sight, question, limit, only), nothing)

    def _found(self, sight: Sight, question: Question, limit: int, only: Only | None) -> Found:
        held = Held(sight, question, self._weights).as_holding()
        hits, how, lacking, asked = search(held, self._weights, question, limit, only)
        leaves = bodies_of(sight.asked, [number for number, _ in hits])
        best = zip(leaves, (score for _, score in hits), strict=True)
        return Found(asked, best, self.around, how, bodies_of(sight.asked, lacking))

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

    def move_mark(
        self,
        place: str,
        since: bytes | None,
        mark: bytes | None,
        *,
        gone: Iterable[Gone] = (),
        leaves: Sequence[Leaf] = (),
    ) -> bool:
        goes = tuple(gone)  # it may be done twice, where an answer was lost

        def moved(asked: Asked) -> int | None:
            if self._marks.now(asked, self._now(asked), place) != since:
                return None
            for one in goes:
                taken(asked, self._scope, self._dialect, one, self._weights)
            if since is None:
                taken_here(asked, self._now(asked), Gone(source=place), self._weights)
            scope = self._now(asked)
            put(asked, scope, leaves, None, self._weights)
            self._marks.set(asked, scope, place, mark)
            count_change(asked, scope)
            return scope.changes + 1

        with self._lock:
            changes = self._tables.write(moved)
            if changes is None:
                self._marks.let_go()
                return False
            self._marks.changed(changes, place, mark)
            self._wipe()
            return True

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

    def _change(self, work: Callable[[Asked, Scope], None]) -> None:
        def changed(asked: Asked) -> None:
            scope = self._now(asked)
            work(asked, scope)
            count_change(asked, scope)

        with self._lock:
            self._tables.write(changed)

    def _take(self, gone: Gone) -> None:
        with self._lock:
            self._tables.write(lambda asked: taken(asked, self._scope, self._dialect, gone, self._weights))

    def _now(self, asked: Asked) -> Scope:
        return made_scope(asked, self._scope, self._dialect)

    def _wipe(self) -> None:
        if unclean := self._tables.read(is_unclean):
            self._tables.wipe()
            self._tables.write(lambda asked: was_wiped(asked, *unclean))


def _check(limit: int) -> None:
    if limit < 0:
        raise InvalidLimit(f"a limit of {limit} leaves")


def _close(tables: Tables) -> None:
    with suppress(StoreError):
        tables.close()
