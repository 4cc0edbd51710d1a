"""The index of a scope: leaves go in, and those that answer a question come out, best first.

Everything is in memory, and exact whatever came and went. `snapshots` keeps snapshots of it beside the store.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from heapq import merge, nlargest
from itertools import islice
from math import inf
from threading import RLock
from typing import NamedTuple, TypeVar

import msgspec

from quire.errors import InvalidLimit
from quire.memory.found import Found, How
from quire.memory.leaf import Kind, Leaf, parts_read
from quire.memory.postings import ROW, Packed, Postings, name_term
from quire.memory.ranking import (
    RANKED,
    Question,
    Scores,
    Weights,
    candidates,
    fused,
    is_evident,
    is_short,
    likeness,
    says_time,
    score,
    told_and_asked,
    unit,
    wanted,
)
from quire.memory.words import terms

MOST_HITS = 200
MOST_TERMS = 2_000
"""In a text with more terms each counts once: a log repeats itself."""

_Key = TypeVar("_Key")


class Only(msgspec.Struct, frozen=True, kw_only=True):
    """Which leaves may come back; None stands for all."""

    sources: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None


class _Transcript(msgspec.Struct, array_like=True):
    """The leaves of a transcript by key, and the row of each stretch."""

    keys: dict[str, int]
    rows: dict[int, int]


class _Source:
    """The transcripts of a source, and its leaves in the order of time, of equal times the last put last."""

    def __init__(self) -> None:
        self.transcripts: dict[str, _Transcript] = {}
        self.times = array("d")
        self.numbers = array("q")

    def add(self, leaf: Leaf, number: int) -> None:
        at = bisect_right(self.times, leaf.at)
        self.times.insert(at, leaf.at)
        self.numbers.insert(at, number)

    def remove(self, leaf: Leaf, number: int) -> None:
        at = self.numbers.index(number, bisect_left(self.times, leaf.at))
        del self.times[at], self.numbers[at]
        transcript = self.transcripts[leaf.transcript]
        del transcript.keys[leaf.key]
        if not transcript.keys:
            del self.transcripts[leaf.transcript]

    def numbered(self, key: str) -> Iterator[int]:
        """The leaves with a key, of all transcripts."""
        return (one.keys[key] for one in self.transcripts.values() if key in one.keys)

    def within(self, span: tuple[float, float]) -> "array[int]":
        """The leaves of a span of time, oldest first."""
        return self.numbers[slice(*(bisect_left(self.times, at) for at in span))]


class _Held:
    """All that an index holds of its leaves. Not for two threads at once."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.postings = Postings(weights.lent())
        self.leaves: dict[int, Leaf | bytes] = {}
        """By number; those of a snapshot stay encoded until they are needed."""
        self.at: dict[int, float] = {}
        self.sources: dict[str, _Source] = {}
        self.speakers: defaultdict[str, set[int]] = defaultdict(set)
        self.kinds: defaultdict[Kind, set[int]] = defaultdict(set)
        self.asking: set[int] = set()
        self.timed: set[int] = set()
        self.vectors: dict[int, array[float]] = {}
        self.last_row = 0

    def put(self, leaf: Leaf) -> None:
        known = self.transcript(leaf)
        if known and leaf.key in known.keys:
            self.remove(known.keys[leaf.key])
        if (number := self._number(leaf)) in self.leaves:
            self.remove(number)
            number = self._number(leaf)  # its transcript may have gone with it
        source = self.sources[leaf.source]
        source.transcripts[leaf.transcript].keys[leaf.key] = number
        source.add(leaf, number)
        self.leaves[number], self.at[number] = leaf, leaf.at
        found = _terms_of(leaf)
        self.postings.add(number, found.named, found.told, found.asked)
        self.kinds[leaf.kind].add(number)
        for name in terms(leaf.speaker):
            self.speakers[name].add(number)
        if found.asks:
            self.asking.add(number)
        if found.says_time:
            self.timed.add(number)

    def _number(self, leaf: Leaf) -> int:
        """The number of the place of a leaf."""
        source = self.sources.setdefault(leaf.source, _Source())
        rows = source.transcripts.setdefault(leaf.transcript, _Transcript({}, {})).rows
        if leaf.stretch not in rows:
            self.last_row += 1
            rows[leaf.stretch] = self.last_row
        return rows[leaf.stretch] * ROW + leaf.order

    def remove(self, number: int) -> None:
        leaf = self.leaf(number)
        found = _terms_of(leaf)
        self.postings.remove(number, (*map(name_term, found.named), *found.told, *found.asked))
        self.sources[leaf.source].remove(leaf, number)
        if not self.sources[leaf.source].transcripts:
            del self.sources[leaf.source]
        for name in set(terms(leaf.speaker)):
            _discard(self.speakers, name, number)
        _discard(self.kinds, leaf.kind, number)
        self.asking.discard(number)
        self.timed.discard(number)
        self.vectors.pop(number, None)
        del self.leaves[number], self.at[number]

    def leaf(self, number: int) -> Leaf:
        leaf = self.leaves[number]
        if isinstance(leaf, bytes):
            leaf = self.leaves[number] = _decode_leaf(leaf)
        return leaf

    def transcript(self, leaf: Leaf) -> _Transcript | None:
        source = self.sources.get(leaf.source)
        return source.transcripts.get(leaf.transcript) if source else None

    def numbered(self, keys: Iterable[tuple[str, str]]) -> set[int]:
        """The leaves by source and key."""
        known = self.sources
        return {number for source, key in keys if source in known for number in known[source].numbered(key)}

    def of_sources(self, only: Only | None) -> list[_Source]:
        if only is None or only.sources is None:
            return list(self.sources.values())
        return [self.sources[name] for name in only.sources if name in self.sources]

    def _of_kinds(self, numbers: Iterable[int], only: Only | None) -> Iterator[int]:
        if only is None or only.kinds is None:
            return iter(numbers)
        kinds = set[int]().union(*(self.kinds[kind] for kind in only.kinds if kind in self.kinds))
        return filter(kinds.__contains__, numbers)

    def newest_first(self, only: Only | None = None) -> Iterator[int]:
        rows = [reversed(source.numbers) for source in self.of_sources(only)]
        return self._of_kinds(merge(*rows, key=self.at.__getitem__, reverse=True), only)

    def oldest_first(self, span: tuple[float, float] = (-inf, inf)) -> Iterator[int]:
        rows = [source.within(span) for source in self.sources.values()]
        return merge(*rows, key=self.at.__getitem__)

    def allowed(self, only: Only) -> set[int]:
        numbers = (number for source in self.of_sources(only) for number in source.numbers)
        return set(self._of_kinds(numbers, only))

    def newest_of(self, places: Iterable[int], count: int) -> list[int]:
        """Of places of four, by their first number, the newest."""
        at = self.at.get

        def newest(one: int) -> float:
            return at(one + 3) or at(one) or at(one + 1) or at(one + 2) or 0.0

        return nlargest(count, places, key=newest)

    def pack(self, marks: dict[str, bytes]) -> bytes:
        """All of it, with the marks of an index, as bytes."""
        return _encode(
            _Snapshot(
                sources={
                    name: (source.times.tobytes(), source.numbers.tobytes(), source.transcripts)
                    for name, source in self.sources.items()
                },
                last_row=self.last_row,
                numbers=_packed(self.leaves),
                leaves=[one if isinstance(one, bytes) else _encode(one) for one in self.leaves.values()],
                speakers={name: _packed(numbers) for name, numbers in self.speakers.items()},
                kinds={kind: _packed(numbers) for kind, numbers in self.kinds.items()},
                asking=_packed(self.asking),
                timed=_packed(self.timed),
                vectors={number: vector.tobytes() for number, vector in self.vectors.items()},
                marks=marks,
                postings=self.postings.packed(),
            )
        )

    def unpack(self, kept: "_Snapshot") -> None:
        """Take what was packed; nothing else may be there."""
        self.postings.unpack(kept.postings)
        self.leaves = dict(zip(_unpacked(kept.numbers), kept.leaves, strict=True))
        self.last_row = kept.last_row
        self.speakers.update((name, set(_unpacked(packed))) for name, packed in kept.speakers.items())
        self.kinds.update((kind, set(_unpacked(packed))) for kind, packed in kept.kinds.items())
        self.asking, self.timed = set(_unpacked(kept.asking)), set(_unpacked(kept.timed))
        self.vectors = {number: array("f", vector) for number, vector in kept.vectors.items()}
        for name, (times, numbers, transcripts) in kept.sources.items():
            source = self.sources[name] = _Source()
            source.times, source.numbers = array("d", times), _unpacked(numbers)
            source.transcripts = transcripts
            self.at.update(zip(source.numbers, source.times, strict=True))


class _Snapshot(msgspec.Struct, array_like=True):
    """An index as bytes; sets of leaves are packed numbers."""

    sources: dict[str, tuple[bytes, bytes, dict[str, _Transcript]]]
    last_row: int
    numbers: bytes
    leaves: list[bytes]
    speakers: dict[str, bytes]
    kinds: dict[Kind, bytes]
    asking: bytes
    timed: bytes
    vectors: dict[int, bytes]
    marks: dict[str, bytes]
    postings: Packed


_encode = msgspec.msgpack.Encoder().encode
_decode_leaf = msgspec.msgpack.Decoder(Leaf).decode
_decode_snapshot = msgspec.msgpack.Decoder(_Snapshot).decode


def _packed(numbers: Iterable[int]) -> bytes:
    return array("q", numbers).tobytes()


def _unpacked(packed: bytes) -> "array[int]":
    return array("q", packed)


def _discard(sets: dict[_Key, set[int]], name: _Key, number: int) -> None:
    """Take a number out of a set; nothing stays of an empty one, nor of its name."""
    sets[name].discard(number)
    if not sets[name]:
        del sets[name]


def _check(limit: int) -> None:
    if limit < 0:
        raise InvalidLimit(f"a limit of {limit} leaves")


# The terms of a leaf


class _Terms(NamedTuple):
    """The terms of a leaf's name, statements and questions, and what cues need."""

    named: list[str]
    told: list[str]
    asked: list[str]
    asks: bool
    says_time: bool


def _terms_of(leaf: Leaf) -> _Terms:
    start = leaf.named + leaf.under
    named = list(dict.fromkeys(terms(leaf.text[:start], like=leaf.text))) if start else []
    if leaf.is_beginning:  # whoever asks for no more than the name of a document means its beginning
        named *= 2
    text = leaf.text[start:]
    said, asked = told_and_asked("\n".join(text[first:end] for first, end in parts_read(text)))
    told, questions = _bounded(terms(said)), _bounded(terms(asked)) if asked else []
    return _Terms(named, told, questions, len(asked) > len(said), says_time({*told, *questions}))


def _bounded(found: list[str]) -> list[str]:
    return found if len(found) <= MOST_TERMS else list(dict.fromkeys(found))


class Index:
    """Leaves that can be found. A key of a transcript, and a place in it, has one leaf: the last put.

    What is found depends on the leaves and not on how they came there; of leaves with equal scores and times
    the last put comes first. Calls may come from any thread.
    """

    def __init__(self, weights: Weights | None = None) -> None:
        self._held = _Held(weights or Weights())
        self._marks: dict[str, bytes] = {}
        self._lock = RLock()
        self.changes = 0
        """How many leaves were put or removed."""
        self.saved = 0
        """What `changes` was when the last snapshot was made."""

    def __len__(self) -> int:
        return len(self._held.leaves)

    def put(self, leaves: Iterable[Leaf]) -> None:
        """Add leaves, in place of those with the same keys or in the same places."""
        with self._lock:
            for leaf in leaves:
                self._held.put(leaf)
                self.changes += 1

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        """Keep vectors for leaves that are there as they are given; a vector goes with its leaf."""
        with self._lock:
            for leaf, vector in zip(leaves, vectors, strict=True):
                transcript = self._held.transcript(leaf)
                number = transcript.keys.get(leaf.key) if transcript else None
                if number is not None and self._held.leaf(number) == leaf:
                    self._held.vectors[number] = unit(vector)

    def remove(self, source: str, keys: Iterable[str]) -> None:
        """Remove leaves of a source, in whichever transcript; a key that is not there does no harm."""
        with self._lock:
            self._remove(self._held.numbered((source, key) for key in keys))

    def drop(self, source: str) -> None:
        """Remove all leaves of a source."""
        with self._lock:
            known = self._held.sources.get(source)
            self._remove(list(known.numbers) if known else ())

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._held.remove(number)
            self.changes += 1

    def update(
        self, source: str, mark: bytes | None, *, gone: Iterable[str] = (), leaves: Iterable[Leaf] = ()
    ) -> None:
        """Remove the keys that are gone, put leaves, and mark how far a source was read, in one step.

        Without a mark, before or now, nothing of the source stays that was there.
        """
        with self._lock:
            if mark is None or source not in self._marks:
                self.drop(source)
            self.remove(source, gone)
            self.put(leaves)
            self._marks.pop(source, None)
            if mark is not None:
                self._marks[source] = mark

    def mark(self, source: str) -> bytes | None:
        """How far a source was read, as it was told."""
        return self._marks.get(source)

    def marked(self) -> list[str]:
        """The sources that have a mark."""
        return list(self._marks)

    def search(self, question: Question, *, limit: int = MOST_HITS, only: Only | None = None) -> Found:
        """The leaves that answer a question, best first; none where nothing does."""
        _check(limit)
        with self._lock:
            search = _Search(self._held, question, only)
            best = [(self._held.leaf(number), score) for number, score in search.run(limit)]
            lacking = list(map(self._held.leaf, search.lacking))
            asked, how, is_evident = search.question, search.how, search.is_evident
            return Found(asked, best, self.around, how, lacking=lacking, is_evident=is_evident)

    def newest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        """The newest leaves, oldest first."""
        _check(limit)
        with self._lock:
            return list(map(self._held.leaf, islice(self._held.newest_first(only), limit)))[::-1]

    def weightiest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        """The most important leaves, of equal ones the newest, the most important first."""
        _check(limit)
        with self._lock:
            leaves = map(self._held.leaf, self._held.newest_first(only))
            return nlargest(limit, leaves, key=lambda leaf: leaf.importance)  # of equal ones the first

    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        """The neighbours of a leaf, in order, without it."""
        with self._lock:
            transcript = self._held.transcript(leaf)
            if transcript is None or leaf.stretch not in transcript.rows:
                return []
            own = transcript.rows[leaf.stretch] * ROW + leaf.order
            near = (*range(own - before, own), *range(own + 1, own + after + 1))
            return [self._held.leaf(number) for number in near if number in self._held.leaves]

    def snapshot(self) -> bytes:
        """All that is here, as bytes."""
        with self._lock:
            return self._held.pack(self._marks)

    @classmethod
    def of_snapshot(cls, snapshot: bytes | memoryview) -> "Index":
        """The index that a snapshot was made of; `ValueError` where the bytes are not a snapshot."""
        kept, index = _decode_snapshot(snapshot), cls()
        index._held.unpack(kept)
        index._marks = kept.marks
        return index


# A search

_Ranked = list[tuple[int, float]]
_ROLES = frozenset(terms("user assistant system tool"))
_NAMED = 1_000
"""Leaves of the named speaker or time that follow those with terms of the question."""

_LOOKED_AT = 4_000
_LOOKED_INTO = 10
"""The best leaves by terms that may show that a question has to do with the record."""


class _Search:
    """One question: by terms, then by cues, then by vectors where the question has one."""

    def __init__(self, held: _Held, question: Question, only: Only | None) -> None:
        self._held, self._weights, self._postings = held, held.weights, held.postings
        self.question = question = question.among(held.speakers)
        self.how: How = "words"
        self.lacking: Sequence[int] = ()
        """The leaves that have no vector yet."""
        self.is_evident = True
        self._allowed = None if only is None else held.allowed(only)
        self._own = held.numbered(question.own)
        self._names = [term for term in question.terms if term in held.speakers]
        counted = [term for term in question.terms if question.dated.is_word(term)]
        self._asked = [term for term in counted if term not in self._names] or counted
        self._words = wanted(self._asked, self._postings, self._weights)
        self._is_short = is_short(self._words, self._postings)

    def run(self, limit: int) -> _Ranked:
        """The best leaves with their scores, best first."""
        question, scores = self.question, self._by_terms()
        top, by_terms = max(scores.values(), default=1.0), frozenset(scores)
        if question.vector is None and question.span is None and _ROLES.issuperset(self._names):
            best = nlargest(_LOOKED_INTO, scores, key=scores.__getitem__)
            self.is_evident = is_evident(self._asked, best, self._postings, self._weights, self._own)
        for number in self._named():
            scores.setdefault(number, 0.0)
        for number in self._own:
            scores.pop(number, None)
        if not scores:
            return self._by_vectors_alone(limit)
        self._add_cues(scores, top)
        if self._allowed is not None:
            scores = {number: scores[number] for number in self._allowed & scores.keys()}
        if question.vector is None:
            ranked = self._ranked(scores, limit, by_terms)
        else:
            ranked = self._with_vectors(question.vector, self._ranked(scores, max(limit, RANKED), by_terms))
        return [(number, value / top) for number, value in ranked[:limit]]

    def _by_terms(self) -> Scores:
        """Scores by terms; the terms of a time count only in leaves that name the time."""
        within = None if self._is_short else self._candidates()
        scores = score(self._words, self._postings, self._weights, within, self._own)
        for more, leaves in list(self._of_times(scores, within)):
            words = wanted(more, self._postings, self._weights)
            for number, worth in score(words, self._postings, self._weights, leaves, self._own).items():
                scores[number] = scores.get(number, 0.0) + worth
        return {number: one for number, one in scores.items() if number not in self._own}

    def _candidates(self) -> set[int]:
        held, question = self._held, self.question
        names, span, meant = self._names, question.span, question.meant()
        named = (self._weights.speaker, held.speakers[names[0]]) if len(names) == 1 else None
        spans = {(span.start, span.end), meant} if span and meant else set[tuple[float, float]]()
        times = [set(held.oldest_first(one)) for one in spans]
        return candidates(self._words, self._postings, named, times, self._allowed, held.newest_of)

    def _of_times(self, scores: Scores, within: Set[int] | None) -> Iterator[tuple[list[str], set[int]]]:
        """The terms of each time that the question names, and the leaves in which they count."""
        postings, dated = self._postings, self.question.dated
        said = [postings[one].keys() for one in dated.beside if one in postings]
        yield (
            sorted(dated.numbers),
            set[int]().union(*(said if within is None else (one & within for one in said))),
        )
        for distance in dated.distances:
            leaves = set(scores) if all(one in postings for one in distance) else set[int]()
            for one in distance if leaves else ():
                leaves &= postings[one].keys()
            yield sorted(distance & dated.units), leaves

    def _named(self) -> Iterator[int]:
        """What the named speaker said and what is from the named time, oldest first.

        Who somebody is, they say early. In a long history only the time counts, where it is short.
        """
        held, meant = self._held, self.question.meant()
        if self._is_short and len(self._names) == 1:
            said = held.speakers[self._names[0]]
            if len(said) <= _NAMED:
                yield from said
            else:
                oldest = islice(held.oldest_first(), _LOOKED_AT)
                yield from islice((number for number in oldest if number in said), _NAMED)
        if meant:
            found = list(islice(held.oldest_first(meant), _NAMED + 1))
            if self._is_short or len(found) <= _NAMED:
                yield from found[:_NAMED]

    def _add_cues(self, scores: Scores, top: float) -> None:
        """Add what cues are worth, as shares of the best score by terms."""
        held, weights, question = self._held, self._weights, self.question
        cues: list[tuple[float, Set[int]]] = [(weights.asks, held.asking)]
        if len(self._names) == 1:
            cues.append((weights.speaker, held.speakers[self._names[0]]))
        if question.asks_when:
            cues.append((weights.says_time, held.timed))
        for share, leaves in cues:
            for number in leaves & scores.keys() if share else ():
                scores[number] += share * top
        if question.span is not None:
            worth = top * (weights.said_then if question.asks_what_was_said else weights.date)
            for number in scores:
                scores[number] += worth * question.nearness(held.at[number])

    def _ranked(self, scores: Scores, limit: int, by_terms: Container[int]) -> _Ranked:
        """Best first, of equal ones the newest: what was said later holds.

        Leaves without a term of the question, found by speaker or time alone, come after equal ones that have
        a term, the oldest first.
        """
        if len(scores) > limit:
            least = sorted(scores.values())[-limit] if limit else inf
            scores = {number: one for number, one in scores.items() if one >= least}
        at = self._held.at
        oldest = sorted(scores, key=lambda number: (at[number], number))
        ranked = [number for number in reversed(oldest) if number in by_terms]
        ranked += [number for number in oldest if number not in by_terms]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return [(number, scores[number]) for number in ranked[:limit]]

    def _with_vectors(self, vector: Sequence[float], ranked: _Ranked) -> _Ranked:
        """The best, moved by their vectors; the rest stays behind them."""
        best, rest = ranked[:RANKED], ranked[RANKED:]
        asked, vectors = unit(vector), self._held.vectors
        alike = {number: likeness(asked, vectors[number]) for number, _ in best if number in vectors}
        self.lacking = [number for number, _ in best if number not in vectors]
        moved = fused(best, alike, self._weights.vector)
        return sorted(moved.items(), key=lambda one: -one[1]) + rest

    def _by_vectors_alone(self, limit: int) -> _Ranked:
        """The newest leaves by their vectors; nothing for a turn that asks nothing, whatever its vector."""
        question, vectors = self.question, self._held.vectors
        if question.vector is None or not question.terms:
            return []
        newest = self._held.newest_first()
        those = (number for number in newest if self._allowed is None or number in self._allowed)
        looked_at = list(islice(those, _LOOKED_AT))
        asked = unit(question.vector)
        alike = {number: likeness(asked, vectors[number]) for number in looked_at if number in vectors}
        self.how, self.lacking = "vectors", [one for one in looked_at[:RANKED] if one not in vectors]
        return self._ranked({number: one for number, one in alike.items() if one > 0}, limit, alike)
