"""The index of a scope: leaves go in, and those that answer a question come out, best first.

Everything is in memory, and exact whatever came and went. `snapshots` keeps snapshots of it beside the store.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from heapq import nlargest
from itertools import islice
from math import inf
from threading import RLock
from typing import NamedTuple

import msgspec

from quire.memory.found import Found
from quire.memory.leaf import LETTERS_READ, Kind, Leaf
from quire.memory.postings import (
    ASKS,
    ROW,
    SAYS_TIME,
    Packed,
    Postings,
    kind_mark,
    name_mark,
    speaker_mark,
)
from quire.memory.ranking import (
    RANKED,
    WEIGHTS,
    Question,
    Scores,
    candidates,
    fused,
    is_evident,
    is_short,
    likeness,
    says_time,
    score,
    statements_and_questions,
    unit,
    wanted,
)
from quire.memory.words import terms

MOST_HITS = 200
MOST_TERMS = 2_000
"""In a text with more terms each counts once: a log repeats itself."""


class LeafFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which leaves may come back; None stands for all."""

    sources: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a source was read: its version, a digest of its last entry, and which log it was."""

    version: int
    last: bytes = b""
    log: str = ""


class _Transcript(msgspec.Struct, array_like=True):
    """The leaves of a transcript by key, and the row of each stretch."""

    keys: dict[str, int]
    rows: dict[int, int]


class _Snapshot(msgspec.Struct, array_like=True):
    """An index as bytes. Numbers, times and leaves are in the order of time."""

    sources: dict[str, dict[str, _Transcript]]
    last_row: int
    numbers: bytes
    times: bytes
    leaves: list[bytes]
    vectors: dict[int, bytes]
    marks: dict[str, Mark]
    states: dict[str, bytes]
    postings: Packed


_encode = msgspec.msgpack.Encoder().encode
_decode_leaf = msgspec.msgpack.Decoder(Leaf).decode
_decode_snapshot = msgspec.msgpack.Decoder(_Snapshot).decode


class Index:
    """Leaves that can be found. A key of a transcript, and a place in it, has one leaf: the last put.

    What is found depends on the leaves and not on how they came there; of leaves with equal scores and times
    the last put comes first. Calls may come from any thread.
    """

    def __init__(self) -> None:
        self.postings = Postings(WEIGHTS.lent())
        self.at: dict[int, float] = {}
        self.numbers = array("q")
        """The leaves in the order of time, of equal times the last put last."""
        self.vectors: dict[int, array[float]] = {}
        self.marks: dict[str, Mark] = {}
        """How far each source was read."""
        self.states: dict[str, bytes] = {}
        """Where reading continues in each source, as of the last snapshot."""
        self.changes = 0
        """How many leaves were put or removed."""
        self.saved = 0
        """What `changes` was when the last snapshot was made."""
        self._times = array("d")
        self._leaves: dict[int, Leaf | bytes] = {}  # those of a snapshot stay encoded until they are needed
        self._sources: dict[str, dict[str, _Transcript]] = {}
        self._last_row = 0
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._leaves)

    # Changing

    def put(self, leaves: Iterable[Leaf]) -> None:
        """Add leaves, in place of those with the same keys or in the same places."""
        with self._lock:
            for leaf in leaves:
                self._put(leaf)

    def remove(self, source: str, keys: Iterable[str]) -> None:
        """Remove leaves of a source, in whichever transcript; a key that is not there does no harm."""
        with self._lock:
            for number in self.numbered((source, key) for key in keys):
                self._remove(number)

    def drop(self, source: str) -> None:
        """Remove all leaves of a source."""
        with self._lock:
            for number in self.allowed(LeafFilter(sources=frozenset((source,)))):
                self._remove(number)

    def update(
        self, source: str, mark: Mark | None, *, gone: Iterable[str] = (), leaves: Iterable[Leaf] = ()
    ) -> None:
        """Remove the keys that are gone, put leaves, and mark how far a source was read, in one step.

        Without a mark, before or now, nothing of the source stays that was there.
        """
        with self._lock:
            if mark is None or source not in self.marks:
                self.drop(source)
            self.remove(source, gone)
            self.put(leaves)
            if mark is None:
                self.marks.pop(source, None)
                self.states.pop(source, None)
            else:
                self.marks[source] = mark

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        """Keep vectors for leaves that are there as they are given; a vector goes with its leaf."""
        with self._lock:
            for leaf, vector in zip(leaves, vectors, strict=True):
                transcript = self._transcript(leaf)
                number = transcript.keys.get(leaf.key) if transcript else None
                if number is not None and self.leaf(number) == leaf:
                    self.vectors[number] = unit(vector)

    def _put(self, leaf: Leaf) -> None:
        known = self._transcript(leaf)
        if known and leaf.key in known.keys:
            self._remove(known.keys[leaf.key])
        if (number := self._number(leaf)) in self._leaves:
            self._remove(number)
            number = self._number(leaf)  # its transcript may have gone with it
        self._sources[leaf.source][leaf.transcript].keys[leaf.key] = number
        place = bisect_right(self._times, leaf.at)
        self._times.insert(place, leaf.at)
        self.numbers.insert(place, number)
        self._leaves[number], self.at[number] = leaf, leaf.at
        self.postings.add(number, *_terms_of(leaf))
        self.changes += 1

    def _number(self, leaf: Leaf) -> int:
        """The number of the place of a leaf."""
        transcripts = self._sources.setdefault(leaf.source, {})
        rows = transcripts.setdefault(leaf.transcript, _Transcript({}, {})).rows
        if leaf.stretch not in rows:
            self._last_row += 1
            rows[leaf.stretch] = self._last_row
        return rows[leaf.stretch] * ROW + leaf.order

    def _remove(self, number: int) -> None:
        leaf = self.leaf(number)
        found = _terms_of(leaf)
        self.postings.remove(number, (*found.stated, *found.asked, *found.marks))
        place = self.numbers.index(number, bisect_left(self._times, leaf.at))
        del self._times[place], self.numbers[place], self._leaves[number], self.at[number]
        self.vectors.pop(number, None)
        transcripts = self._sources[leaf.source]
        del transcripts[leaf.transcript].keys[leaf.key]
        if not transcripts[leaf.transcript].keys:
            del transcripts[leaf.transcript]
        if not transcripts:
            del self._sources[leaf.source]
        self.changes += 1

    def _transcript(self, leaf: Leaf) -> _Transcript | None:
        return self._sources.get(leaf.source, {}).get(leaf.transcript)

    # Asking

    def search(self, question: Question, *, limit: int = MOST_HITS, only: LeafFilter | None = None) -> Found:
        """The leaves that answer a question, best first; none where nothing does."""
        with self._lock:
            search = _Search(self, question, only)
            best = [(self.leaf(number), score) for number, score in search.run(limit)]
            bare = list(map(self.leaf, search.without_vectors))
            return Found(question, best, self.around, without_vectors=bare, is_evident=search.is_evident)

    def newest(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """The newest leaves, oldest first."""
        with self._lock:
            return list(map(self.leaf, islice(self._newest_first(only), limit)))[::-1]

    def weightiest(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """The most important leaves, of equal ones the newest, the most important first."""
        with self._lock:
            leaves = map(self.leaf, self._newest_first(only))
            return nlargest(limit, leaves, key=lambda leaf: leaf.importance)  # of equal ones the first

    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        """The neighbours of a leaf, in order, without it."""
        with self._lock:
            transcript = self._transcript(leaf)
            if transcript is None or leaf.stretch not in transcript.rows:
                return []
            own = transcript.rows[leaf.stretch] * ROW + leaf.order
            near = (*range(own - before, own), *range(own + 1, own + after + 1))
            return [self.leaf(number) for number in near if number in self._leaves]

    def leaf(self, number: int) -> Leaf:
        """A leaf by its number."""
        leaf = self._leaves[number]
        if isinstance(leaf, bytes):
            leaf = self._leaves[number] = _decode_leaf(leaf)
        return leaf

    def numbered(self, keys: Iterable[tuple[str, str]]) -> set[int]:
        """The leaves by source and key, of all transcripts."""
        rows = ((key, one.keys) for source, key in keys for one in self._sources.get(source, {}).values())
        return {numbers[key] for key, numbers in rows if key in numbers}

    def allowed(self, only: LeafFilter) -> Set[int]:
        """The leaves of some sources and kinds."""
        found: Set[int] = self.at.keys()
        if only.sources is not None:
            known = (self._sources.get(source, {}) for source in only.sources)
            found = {number for source in known for one in source.values() for number in one.keys.values()}
        if only.kinds is not None:
            found = found & set[int]().union(*(self.postings[kind_mark(kind)] for kind in only.kinds))
        return found

    def within(self, start: float, end: float) -> "array[int]":
        """The leaves of a span of time, oldest first."""
        return self.numbers[bisect_left(self._times, start) : bisect_left(self._times, end)]

    def newest_of(self, places: Iterable[int], count: int) -> list[int]:
        """Of places of four, by their first number, the newest."""
        at = self.at.get

        def newest(one: int) -> float:
            return at(one + 3) or at(one) or at(one + 1) or at(one + 2) or 0.0

        return nlargest(count, places, key=newest)

    def _newest_first(self, only: LeafFilter | None) -> Iterator[int]:
        newest = reversed(self.numbers)
        return newest if only is None else filter(self.allowed(only).__contains__, newest)

    # Snapshots

    def snapshot(self) -> bytes:
        """All that is here, as bytes."""
        with self._lock:
            leaves = (self._leaves[number] for number in self.numbers)
            return _encode(
                _Snapshot(
                    sources=self._sources,
                    last_row=self._last_row,
                    numbers=self.numbers.tobytes(),
                    times=self._times.tobytes(),
                    leaves=[one if isinstance(one, bytes) else _encode(one) for one in leaves],
                    vectors={number: vector.tobytes() for number, vector in self.vectors.items()},
                    marks=self.marks,
                    states=self.states,
                    postings=self.postings.packed(),
                )
            )

    @classmethod
    def of_snapshot(cls, snapshot: bytes | memoryview) -> "Index":
        """The index that a snapshot was made of; `ValueError` where the bytes are not a snapshot."""
        kept, index = _decode_snapshot(snapshot), cls()
        index._sources, index._last_row, index.marks = kept.sources, kept.last_row, kept.marks
        index.states = kept.states
        index.numbers, index._times = array("q", kept.numbers), array("d", kept.times)
        index.at = dict(zip(index.numbers, index._times, strict=True))
        index._leaves = dict(zip(index.at, kept.leaves, strict=True))
        index.vectors = {number: array("f", vector) for number, vector in kept.vectors.items()}
        index.postings.unpack(kept.postings)
        return index


# The terms of a leaf


class _Terms(NamedTuple):
    """The terms of a leaf's statements and of its questions, and its marks."""

    stated: list[str]
    asked: list[str]
    marks: list[str]


def _terms_of(leaf: Leaf) -> _Terms:
    start = leaf.name_length + leaf.heading_length
    text = leaf.text[start:]
    said, questions = statements_and_questions(text[:LETTERS_READ])
    stated, asked = _bounded(terms(said)), _bounded(terms(questions)) if questions else []
    marks = [kind_mark(leaf.kind), *map(speaker_mark, terms(leaf.speaker))]
    if start:
        names = list(map(name_mark, dict.fromkeys(terms(leaf.text[:start], like=leaf.text))))
        # Whoever asks for no more than the name of a document means its beginning.
        marks += 2 * names if leaf.is_beginning else names
    if len(questions) > len(said):
        marks.append(ASKS)
    if says_time({*stated, *asked}):
        marks.append(SAYS_TIME)
    return _Terms(stated, asked, marks)


def _bounded(found: list[str]) -> list[str]:
    return found if len(found) <= MOST_TERMS else list(dict.fromkeys(found))


# A search

_Ranked = list[tuple[int, float]]
_ROLES = frozenset(terms("user assistant system tool"))
_NAMED = 1_000
"""Leaves of the named speaker or time that follow those with terms of the question."""

_LOOKED_AT = 4_000


class _Search:
    """One question: by terms, then by cues, then by vectors where the question has one."""

    def __init__(self, index: Index, question: Question, only: LeafFilter | None) -> None:
        self._index, self._postings = index, index.postings
        self._question = question
        self.without_vectors: Sequence[int] = ()
        """The leaves that have no vector yet."""
        self.is_evident = True
        self._allowed = None if only is None else index.allowed(only)
        self._own = index.numbered(question.own)
        self._names = [term for term in question.terms if speaker_mark(term) in index.postings]
        self._asked = [term for term in question.terms if term not in self._names] or question.terms
        self._words = wanted(self._asked, self._postings)
        self._is_short = is_short(self._words, self._postings)

    def run(self, limit: int) -> _Ranked:
        """The best leaves with their scores, best first."""
        question = self._question
        within = None if self._is_short else self._candidates()
        scores = score(self._words, self._postings, within, self._own)
        for number in self._own:
            scores.pop(number, None)
        top, by_terms = max(scores.values(), default=1.0), frozenset(scores)
        if question.vector is None and not question.spans and _ROLES.issuperset(self._names):
            self.is_evident = is_evident(self._asked, scores, self._postings)
        for number in self._named():
            if number not in self._own:
                scores.setdefault(number, 0.0)
        self._add_cues(scores, top)
        if self._allowed is not None:
            scores = {number: scores[number] for number in self._allowed & scores.keys()}
        if question.vector is None:
            ranked = self._ranked(scores, limit, by_terms)
        else:
            ranked = self._with_vectors(question.vector, self._ranked(scores, max(limit, RANKED), by_terms))
        return [(number, value / top) for number, value in ranked[:limit]]

    def _candidates(self) -> set[int]:
        index, times = (
            self._index,
            [set(self._index.within(one.start, one.end)) for one in self._question.spans],
        )
        speaker = self._speaker()
        named = None if speaker is None else (WEIGHTS.speaker, speaker)
        return candidates(self._words, self._postings, named, times, self._allowed, index.newest_of)

    def _speaker(self) -> Set[int] | None:
        """What the speaker said who is named, if it is one."""
        return self._postings[speaker_mark(self._names[0])].keys() if len(self._names) == 1 else None

    def _named(self) -> Iterator[int]:
        """What the named speaker said and what is from the named times, oldest first.

        Oldest first, because people introduce themselves early. In a long history only the named times are
        used, if they have few leaves.
        """
        said, index = self._speaker(), self._index
        if said is not None and self._is_short:
            is_few = len(said) <= _NAMED
            oldest = said if is_few else (one for one in index.numbers[:_LOOKED_AT] if one in said)
            yield from islice(oldest, _NAMED)
        for span in self._question.spans:
            found = index.within(span.start, span.end)
            if self._is_short or len(found) <= _NAMED:
                yield from found[:_NAMED]

    def _add_cues(self, scores: Scores, top: float) -> None:
        """Add what cues are worth, as shares of the best score by terms."""
        question, postings = self._question, self._postings
        cues: list[tuple[float, Set[int]]] = [(WEIGHTS.asks, postings[ASKS].keys())]
        if (said := self._speaker()) is not None:
            cues.append((WEIGHTS.speaker, said))
        if question.asks_when:
            cues.append((WEIGHTS.says_time, postings[SAYS_TIME].keys()))
        if question.spans:
            cues.append((WEIGHTS.date, {one for one in scores if question.names(self._index.at[one])}))
        for share, leaves in cues:
            for number in leaves & scores.keys():
                scores[number] += share * top

    def _ranked(self, scores: Scores, limit: int, by_terms: Container[int]) -> _Ranked:
        """Best first, of equal ones the newest: what was said later holds.

        Leaves without a term of the question, found by speaker or time alone, come after equal ones that have
        a term, the oldest first.
        """
        if len(scores) > limit:
            least = sorted(scores.values())[-limit] if limit else inf
            scores = {number: one for number, one in scores.items() if one >= least}
        at = self._index.at
        oldest = sorted(sorted(scores), key=at.__getitem__)
        ranked = [number for number in reversed(oldest) if number in by_terms]
        ranked += [number for number in oldest if number not in by_terms]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return [(number, scores[number]) for number in ranked[:limit]]

    def _with_vectors(self, vector: Sequence[float], ranked: _Ranked) -> _Ranked:
        """The best, moved by their vectors; the rest stays behind them."""
        best, rest = ranked[:RANKED], ranked[RANKED:]
        asked, vectors = unit(vector), self._index.vectors
        alike = {number: likeness(asked, vectors[number]) for number, _ in best if number in vectors}
        self.without_vectors = [number for number, _ in best if number not in vectors]
        moved = fused(best, alike, WEIGHTS.vector)
        return sorted(moved.items(), key=lambda one: -one[1]) + rest
