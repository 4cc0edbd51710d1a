"""The index in this process: everything in memory, nothing rebuilt, exact whatever came and went."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from threading import RLock

from quire.errors import InvalidLimit, InvalidValue
from quire.memory.index.found import Found
from quire.memory.index.holding import Holding
from quire.memory.index.index import MOST_HITS, Gone, Index, Only
from quire.memory.index.searching import search
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question, Weights


class InProcess(Index):
    """For scopes of up to some hundred thousand leaves."""

    def __init__(self, weights: Weights | None = None) -> None:
        self._weights = weights or Weights()
        self._held = Holding(self._weights)
        self._marks: dict[str, bytes] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._held.leaves)

    def put(self, leaves: Sequence[Leaf], *, vectors: Sequence[Sequence[float]] | None = None) -> None:
        if vectors is not None and len(vectors) != len(leaves):
            raise InvalidValue(f"{len(vectors)} vectors for {len(leaves)} leaves")
        with self._lock:
            for nth, leaf in enumerate(leaves):
                self._held.put(leaf, vectors[nth] if vectors is not None else None)

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        with self._lock:
            for leaf, vector in zip(leaves, vectors, strict=True):
                self._held.set_vector(leaf, vector)

    def remove(self, source: str, keys: Collection[str]) -> None:
        with self._lock:
            for key in keys:
                self._held.remove(source, key)

    def drop(self, source: str, transcript: str | None = None) -> None:
        with self._lock:
            self._held.drop(source, transcript)

    def search(self, question: Question, *, limit: int = MOST_HITS, only: Only | None = None) -> Found:
        _check(limit)
        with self._lock:
            hits, how, lacking, asked = search(self._held, self._weights, question, limit, only)
            leaves = [(self._held.leaves[number], score) for number, score in hits]
            without = [self._held.leaves[number] for number in lacking]
        return Found(asked, leaves, self.around, how, without)

    def newest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        _check(limit)
        with self._lock:
            return list(islice(self._held.newest_first(only), limit))[::-1]

    def weightiest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        _check(limit)
        with self._lock:
            return list(islice(self._held.weightiest_first(only), limit))

    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        with self._lock:
            return list(self._held.around(leaf, before, after))

    def mark(self, place: str) -> bytes | None:
        return self._marks.get(place)

    def move_mark(
        self,
        place: str,
        since: bytes | None,
        mark: bytes | None,
        *,
        gone: Iterable[Gone] = (),
        leaves: Sequence[Leaf] = (),
    ) -> bool:
        with self._lock:
            if self._marks.get(place) != since:
                return False
            for one in (*gone, Gone(source=place)) if since is None else gone:
                self._take(one)
            self.put(leaves)
            if mark is None:
                self._marks.pop(place, None)
            else:
                self._marks[place] = mark
            return True

    def _take(self, gone: Gone) -> None:
        if gone.keys is None:
            self.drop(gone.source, gone.transcript)
        else:
            self.remove(gone.source, gone.keys)

    def marked(self) -> list[str]:
        with self._lock:
            return list(self._marks)

    def close(self) -> None:
        """Nothing to let go of."""


def _check(limit: int) -> None:
    if limit < 0:
        raise InvalidLimit(f"a limit of {limit} leaves")
