"""The index of a scope: a search returns the leaves that answer a question, best first.

It stays exact as leaves are added and removed. `snapshots.py` stores a snapshot of it beside the store, in
parts. An index that is opened from a snapshot loads leaves and lists on demand.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from functools import cached_property
from heapq import nlargest
from itertools import islice
from math import inf
from threading import RLock
from typing import NamedTuple

import msgspec

from quire.items import ORIGINS, Origin
from quire.memory.hits import SearchResult
from quire.memory.leaf import MAX_TEXT_LENGTH, Kind, Leaf
from quire.memory.postings import (
    CHANGES,
    KIND,
    NAME,
    ORIGIN,
    ROW,
    SOURCE,
    SPEAKER,
    WISHES,
    Column,
    Load,
    Parts,
    Postings,
    digest_of,
    part_name,
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
    says_change,
    score,
    similarity,
    statements_and_questions,
    unit,
    words_of,
)
from quire.memory.wish import wishes_in
from quire.memory.words import language_of, related, terms

MAX_HITS = 200
MAX_TERMS = 2_000
"""In a text with more terms each counts only once, because logs repeat themselves."""


class LeafFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The leaves that a search may return; None means all."""

    sources: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None
    trust: Origin | None = None
    """Their lowest origin."""


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """How far a source was read: its version, a digest of its last entry, its log and the stored checksum."""

    version: int
    last: bytes = b""
    log: str = ""
    checksum: int | None = None


class _Transcript(msgspec.Struct, array_like=True):
    """The number of leaves of a transcript, and the row of each stretch."""

    count: int
    rows: dict[int, int]


class _Head(msgspec.Struct, array_like=True):
    """The part of a snapshot that is loaded first."""

    sources: dict[str, dict[str, _Transcript]]
    last_row: int
    count: int
    exchanges: int
    total: float
    progress: dict[str, Progress]


_FIRST_PARTS = ("head", "numbers", "at", "exchange_of", "length", "receives", "share", "terms")
"""The parts that every search needs."""

_EXPLAINED = 32
"""The best hits, whose neighbours are loaded with them for the reasons in receipts."""

_encode = msgspec.msgpack.Encoder().encode
_decode_leaf = msgspec.msgpack.Decoder(tuple[Leaf, bytes]).decode
_decode_head = msgspec.msgpack.Decoder(_Head).decode


class Index:
    """An index of leaves. In a transcript, each key and each place has at most one leaf: the last put there.

    The order in which leaves are put does not change results, except among leaves with equal scores and
    times: the last put comes first. Any thread may call any method.
    """

    def __init__(self) -> None:
        self.postings = Postings(WEIGHTS.lent(), WEIGHTS.reply)
        self.at: Column[float] = Column(0.0, "at")
        self.vectors: dict[int, array[float]] = {}
        self.progress: dict[str, Progress] = {}
        """How far each source was read."""
        self.states: dict[str, bytes | None] = {}
        """By source that changed since the last snapshot: where reading continues; None if it was removed."""
        self.changes = 0
        """The number of leaves that were put or removed."""
        self.saved = 0
        """The value of `changes` at the last snapshot."""
        self.lock = RLock()
        self._leaves: dict[int, Leaf] = {}
        self._importance: Column[float] = Column(0.0, "importance")
        # The numbers of leaves by a digest of source, transcript and key.
        self._keys: Column[int] = Column(-1, "keyed", "q", of="keys")
        self._sources: dict[str, dict[str, _Transcript]] = {}
        self._last_row = 0
        self._load: Load | None = None
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return len(self.postings)

    @cached_property
    def numbers(self) -> "array[int]":
        """The numbers of leaves by time; of equal times the last put is last."""
        return array("q", self._part("in time"))

    @cached_property
    def _times(self) -> "array[float]":
        return array("d", self._part("times"))

    def _part(self, name: str) -> bytes:
        return b"" if self._load is None else self._load((name,))[name]

    # Changing

    def put(self, leaves: Iterable[Leaf]) -> None:
        """Add leaves; they replace those with the same keys or places."""
        with self.lock:
            for leaf in leaves:
                self._put(leaf)

    def remove(self, source: str, keys: Iterable[str]) -> None:
        """Remove the leaves of a source with these keys, if there are any."""
        with self.lock:
            for number in self.numbered((source, key) for key in keys):
                self._remove(number)

    def drop(self, source: str) -> None:
        """Remove all leaves of a source."""
        with self.lock:
            for number in self.allowed(LeafFilter(sources=frozenset((source,)))):
                self._remove(number)

    def update(
        self,
        source: str,
        progress: Progress | None,
        *,
        removed: Iterable[str] = (),
        leaves: Iterable[Leaf] = (),
    ) -> None:
        """Remove keys, put leaves, and set the progress of a source, in one step.

        If there is no progress, before or now, all older leaves of the source are removed.
        """
        with self.lock:
            if progress is None or source not in self.progress:
                self.drop(source)
            self.remove(source, removed)
            self.put(leaves)
            if progress is None:
                self.progress.pop(source, None)
                self.states[source] = None
            else:
                self.progress[source] = progress

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        """Set the vectors of leaves that have not changed meanwhile."""
        with self.lock:
            for leaf, vector in zip(leaves, vectors, strict=True):
                number = self._keys[_key_of(leaf)]
                if number >= 0 and self.leaf(number) == leaf:
                    self.vectors[number] = unit(vector)
                    self._changed.add(number)

    def state(self, source: str) -> bytes | None:
        """Where reading continues in a source."""
        if source in self.states or self._load is None:
            return self.states.get(source)
        return self._part(part_name("s", source))

    def _put(self, leaf: Leaf) -> None:
        key = _key_of(leaf)
        if (known := self._keys[key]) >= 0:
            self._remove(known)
        number = self._number(leaf)
        if self._has(number):
            self._remove(number)
            number = self._number(leaf)  # its transcript may have been removed with it
        self._sources[leaf.source][leaf.transcript].count += 1
        numbers, times = self.numbers, self._times
        place = bisect_right(times, leaf.at)
        times.insert(place, leaf.at)
        numbers.insert(place, number)
        self._leaves[number], self._keys[key] = leaf, number
        self.at[number], self._importance[number] = leaf.at, leaf.importance
        self.postings.add(number, number - leaf.after, *_terms_of(leaf))
        self._changed.add(number)
        self.changes += 1

    def _number(self, leaf: Leaf) -> int:
        """The number for the place of a leaf."""
        transcripts = self._sources.setdefault(leaf.source, {})
        rows = transcripts.setdefault(leaf.transcript, _Transcript(0, {})).rows
        if leaf.stretch not in rows:
            self._last_row += 1
            rows[leaf.stretch] = self._last_row
        return rows[leaf.stretch] * ROW + leaf.order

    def _has(self, number: int) -> bool:
        return self.postings.exchange_of[number] >= 0

    def _remove(self, number: int) -> None:
        leaf = self.leaf(number)
        own = _terms_of(leaf)
        self.postings.remove(number, (*own.stated, *own.asked, *own.marks))
        place = self.numbers.index(number, bisect_left(self._times, leaf.at))
        del self._times[place], self.numbers[place], self._leaves[number]
        self._keys[_key_of(leaf)] = -1
        self.at[number] = 0.0
        self.vectors.pop(number, None)
        transcripts = self._sources[leaf.source]
        transcripts[leaf.transcript].count -= 1
        if not transcripts[leaf.transcript].count:
            del transcripts[leaf.transcript]
        if not transcripts:
            del self._sources[leaf.source]
        self._changed.add(number)
        self.changes += 1

    # Asking

    def search(
        self, question: Question, *, limit: int = MAX_HITS, only: LeafFilter | None = None
    ) -> SearchResult:
        """Return the leaves that answer a question, best first."""
        with self.lock:
            search = _Search(self, question, only)
            ranked = search.run(limit)
            shown = (n for number, _ in ranked[:_EXPLAINED] for n in range(number - 2, number + 2))
            self.leaves(filter(self._has, shown))  # reasons need the neighbours; all are loaded at once
            leaves = self.leaves(number for number, _ in ranked)
            best = [
                (leaf, score, number in search.outdated)
                for leaf, (number, score) in zip(leaves, ranked, strict=True)
            ]
            missing = self.leaves(search.without_vectors)
            return SearchResult(
                question, best, self.neighbours, without_vectors=missing, is_evident=search.is_evident
            )

    def newest(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """Return the newest leaves, oldest first."""
        with self.lock:
            return self.leaves(islice(self._newest_first(only), limit))[::-1]

    def most_important(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """Return the most important leaves, most important first; of equal ones the newest."""
        with self.lock:
            newest = self._newest_first(only)  # `nlargest` prefers the first of equal ones
            return self.leaves(nlargest(limit, newest, key=self._importance.__getitem__))

    def wishes(self, limit: int) -> list[Leaf]:
        """Return the newest user messages with standing instructions or preferences, newest first."""
        with self.lock:
            oldest_first = sorted(self.postings[WISHES], key=lambda number: (self.at[number], number))
            return self.leaves(oldest_first[: -limit - 1 : -1])

    def neighbours(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        """Return the leaves before and after a leaf, in order."""
        with self.lock:
            transcript = self._sources.get(leaf.source, {}).get(leaf.transcript)
            if transcript is None or leaf.stretch not in transcript.rows:
                return []
            own = transcript.rows[leaf.stretch] * ROW + leaf.order
            near = (*range(own - before, own), *range(own + 1, own + after + 1))
            return self.leaves(filter(self._has, near))

    def leaf(self, number: int) -> Leaf:
        """Return the leaf with a number."""
        return self.leaves((number,))[0]

    def leaves(self, numbers: Iterable[int]) -> list[Leaf]:
        """Return the leaves with some numbers; the missing ones are loaded together, with their vectors."""
        row = list(numbers)
        names = {f"#{number:x}": number for number in row if number not in self._leaves}
        if names and self._load is not None:
            for name, body in self._load(names).items():
                number = names[name]
                self._leaves[number], vector = _decode_leaf(body)
                if vector:
                    self.vectors[number] = array("f", vector)
        return [self._leaves[number] for number in row]

    def numbered(self, keys: Iterable[tuple[str, str]]) -> set[int]:
        """Return the numbers of leaves by source and key, in all transcripts."""
        names = ((source, name, key) for source, key in keys for name in self._sources.get(source, ()))
        numbers = (self._keys[digest_of(source, transcript, key)] for source, transcript, key in names)
        return {number for number in numbers if number >= 0}

    def allowed(self, only: LeafFilter) -> Set[int]:
        """Return the numbers of the leaves that a filter allows."""
        trusted = None if only.trust is None else ORIGINS[: ORIGINS.index(only.trust) + 1]
        filters = (SOURCE, only.sources), (KIND, only.kinds), (ORIGIN, trusted)
        sets = [self._listed(mark + name for name in names) for mark, names in filters if names is not None]
        return set[int].intersection(*sets) if sets else set(self.numbers)

    def _listed(self, marks: Iterable[str]) -> set[int]:
        return set[int]().union(*map(self.postings.__getitem__, marks))

    def within(self, start: float, end: float) -> "array[int]":
        """Return the numbers of the leaves of a span of time, oldest first."""
        return self.numbers[bisect_left(self._times, start) : bisect_left(self._times, end)]

    def newest_blocks(self, firsts: Iterable[int], count: int) -> list[int]:
        """Return the newest of some blocks of four, each by the number of its first leaf."""
        at = self.at.__getitem__

        def time_of(first: int) -> float:  # a missing leaf has the time 0
            return at(first + 3) or at(first) or at(first + 1) or at(first + 2)

        return nlargest(count, firsts, key=time_of)

    def _newest_first(self, only: LeafFilter | None) -> Iterator[int]:
        newest = reversed(self.numbers)
        return newest if only is None else filter(self.allowed(only).__contains__, newest)

    # Snapshots

    def parts(self) -> Parts:
        """The parts to write: those that changed, or, without a snapshot, all. Then call `on_saved`."""
        if self._load is not None:
            self._load(())  # raises if another snapshot was written
        postings = self.postings
        exchanges = map(postings.exchange_of.__getitem__, self.numbers)
        numbers = array("q", sorted({*self.numbers, *exchanges}))  # the message of an exchange may be gone
        head = _Head(
            self._sources, self._last_row, len(self), postings.exchanges, postings.total, self.progress
        )
        parts: Parts = {"head": _encode(head), "in time": self.numbers.tobytes()}
        parts |= {"times": self._times.tobytes()} | self._keys.parts() | self.postings.parts(numbers)
        parts |= self.at.parts(numbers) | self._importance.parts(numbers)
        parts |= {part_name("s", source): state for source, state in self.states.items()}
        return parts | {f"#{number:x}": self._encoded(number) for number in self._changed}

    def _encoded(self, number: int) -> bytes | None:
        if not self._has(number):
            return None
        vector = self.vectors.get(number)
        return _encode((self.leaf(number), b"" if vector is None else vector.tobytes()))

    def on_saved(self, load: Load) -> None:
        """Load from the snapshot that was just written."""
        self._load, self.saved = load, self.changes
        self.postings.on_saved(load)
        self._changed, self.states = set(), {}

    @property
    def held(self) -> int:
        """The number of leaves in memory."""
        return len(self._leaves)

    @property
    def may_be_dropped(self) -> bool:
        """Whether its snapshot is complete."""
        return self.is_saved and self.saved == self.changes

    @property
    def is_saved(self) -> bool:
        """Whether it loads from a snapshot."""
        return self._load is not None

    @classmethod
    def of_snapshot(cls, load: Load) -> "Index":
        """The index of a snapshot."""
        index, loaded = cls(), dict(load(_FIRST_PARTS))
        head = _decode_head(loaded["head"])

        def part(name: str) -> bytes:
            if name not in loaded:
                loaded.update(load((name,)))
            return loaded[name]

        index._load = load
        index._sources, index._last_row, index.progress = head.sources, head.last_row, head.progress
        for column in (index.at, index._importance, index._keys):
            column.part = part
        index.postings.open(load, part, head.count, head.exchanges, head.total)
        return index


def _key_of(leaf: Leaf) -> int:
    return digest_of(leaf.source, leaf.transcript, leaf.key)


# The terms of a leaf


class _Terms(NamedTuple):
    """The terms of the statements and of the questions of a leaf, and its marks."""

    stated: list[str]
    asked: list[str]
    marks: list[str]


def _terms_of(leaf: Leaf) -> _Terms:
    start = leaf.name_length + leaf.heading_length
    text = leaf.text[start:]
    statements, questions = statements_and_questions(text[:MAX_TEXT_LENGTH])
    stated, asked = _bounded(terms(statements)), _bounded(terms(questions)) if questions else []
    marks = [KIND + leaf.kind, SOURCE + leaf.source, ORIGIN + leaf.origin]
    if leaf.is_of_user and any(wishes_in(text)):
        marks.append(WISHES)
    if says_change(text):
        marks.append(CHANGES)
    if leaf.speaker not in ROLES:
        marks += [SPEAKER + term for term in terms(leaf.speaker)]
    if start:
        language = language_of(leaf.text)
        names = [NAME + term for term in dict.fromkeys(terms(leaf.text[:start], language=language))]
        # A question with nothing but the name of a document asks for its beginning.
        marks += 2 * names if leaf.is_beginning else names
    return _Terms(stated, asked, marks)


def _bounded(terms: list[str]) -> list[str]:
    return terms if len(terms) <= MAX_TERMS else list(dict.fromkeys(terms))


# A search

_Ranked = list[tuple[int, float]]

_COMPARED = 5
"""The number of best hits that are compared to find what changed."""

_CLOSE, _SAME, _OUTDATED = 0.2, 0.2, 0.7
"""To come before an older hit, a newer one needs the first share of its score and the second share of its
matches. With the third share of its matches, the newer one marks it as outdated."""

_BETTER = 1.5
"""A reply is shown beside its message if it matches the question this many times better."""

LAG = 12
"""The number of exchanges that are shown before the other replies of the first exchange."""

ROLES = frozenset(("user", "assistant", "system", "summary"))
"""Speakers that are roles and not names."""

_MAX_NAMED = 1_000
"""The most leaves of the named speaker, or of a named time, that follow those with terms of the question."""

_MAX_SCANNED = 4_000


class _Search:
    """One search: by terms, then by cues, then by vectors if the question has one."""

    def __init__(self, index: Index, question: Question, only: LeafFilter | None) -> None:
        self._index, self._postings = index, index.postings
        self._question = question
        self.without_vectors: Sequence[int] = ()
        """The leaves without a vector."""
        self.is_evident = True
        self.outdated: set[int] = set()
        """Messages about something that a newer one says has changed."""
        self._allowed = None if only is None else index.allowed(only)
        self._asked_in = index.numbered(question.asked_in)
        index.postings.fetch(_terms_to_load(question))
        self._names = [term for term in question.terms if SPEAKER + term in index.postings]
        self._asked = [term for term in question.terms if term not in self._names] or question.terms
        self._words = words_of(self._asked, self._postings)
        self._is_short = is_short(self._words, self._postings)

    def run(self, limit: int) -> _Ranked:
        """Return the best leaves with their scores, best first."""
        question = self._question
        within = None if self._is_short else self._candidates()
        scores = score(self._words, self._postings, within, self._asked_in)
        top, by_terms = max(scores.values(), default=1.0), frozenset(scores)
        if question.vector is None and not question.spans and not self._names:
            self.is_evident = is_evident(self._asked, self._words, scores, self._postings)
        for number in self._named():
            scores.setdefault(self._postings.exchange_of[number], 0.0)
        self._add_cues(scores, top)
        if self._allowed is not None:
            allowed = {self._postings.exchange_of[number] for number in self._allowed}
            scores = {number: scores[number] for number in allowed & scores.keys()}
        if question.vector is None:
            ranked = self._ranked(scores, limit, by_terms)
        else:
            ranked = self._with_vectors(question.vector, self._ranked(scores, max(limit, RANKED), by_terms))
        ranked = self._newer_first(ranked)
        return [(number, value / top) for number, value in islice(self._leaves(ranked), limit)]

    def _newer_first(self, ranked: _Ranked) -> _Ranked:
        """Among the very best, move messages that report a change before older ones about the same topic.

        "I moved to Bergen" comes before "I live in Oslo", which is marked as outdated. The order stays if the
        question is about the past or names a time.
        """
        is_of_past = self._question.is_of_past or bool(self._question.spans)
        scores, order = dict(ranked[:_COMPARED]), list[int]()
        changes = self._postings[CHANGES].keys() & scores.keys()
        for number, value in scores.items():
            others = (other for other in scores if number in changes and value >= _CLOSE * scores[other])
            # "move" stands for "live" in a question, but two messages about moves may have different topics.
            shares = {other: self._shared(other, number, by_own_words=other in changes) for other in others}
            self.outdated |= {other for other, share in shares.items() if share >= _OUTDATED}
            behind = (place for place, other in enumerate(order) if shares.get(other, 0.0) >= _SAME)
            order.insert(len(order) if is_of_past else next(behind, len(order)), number)
        return [*zip(order, scores.values(), strict=True), *ranked[_COMPARED:]]

    def _shared(self, older: int, newer: int, *, by_own_words: bool) -> float:
        """The share of the matches of `older` that `newer` has too; 0 if `newer` is not newer."""
        matches, newer_matches = (self._matches(leaf, by_own_words=by_own_words) for leaf in (older, newer))
        if not matches or self._at(newer) <= self._at(older):
            return 0.0
        return sum(worth for word, worth in matches.items() if word in newer_matches) / sum(matches.values())

    def _matches(self, leaf: int, *, by_own_words: bool = False) -> dict[int, float]:
        """The weights of the question's words in a leaf, by place; `by_own_words` ignores related words."""
        has, own = self._postings.__getitem__, self._asked if by_own_words else None
        return {
            nth: max(weights)
            for nth, word in enumerate(self._words)
            if (weights := [w for term, w in word if leaf in has(term) and (own is None or term in own)])
        }

    def _leaves(self, ranked: _Ranked) -> Iterator[tuple[int, float]]:
        """The leaves of exchanges: the message of each, and its best reply if that matches much better.

        Other replies with a match come later: after every second exchange, those of an earlier one.
        """
        waiting: list[list[int]] = []
        for nth, (exchange, value) in enumerate(ranked, 1):
            first, replies = self._first_and_replies(exchange)
            yield from ((leaf, value) for leaf in first)
            waiting.append(replies)
            if nth >= LAG and nth % 2 == 0:
                yield from ((leaf, value) for leaf in waiting[(nth - LAG) // 2])
        least = ranked[-1][1] if ranked else 0.0
        for replies in waiting[max(0, (len(ranked) - LAG) // 2 + 1) :]:
            yield from ((leaf, least) for leaf in replies)

    def _first_and_replies(self, exchange: int) -> tuple[list[int], list[int]]:
        """The leaves of an exchange to show first, and the replies to show later."""
        members = [leaf for leaf in self._postings.members(exchange) if leaf not in self._asked_in]
        if len(members) < 2:
            return self._only_allowed(members), []
        worth = {leaf: sum(self._matches(leaf).values()) for leaf in members}
        replies = sorted(members[1:], key=lambda leaf: -worth[leaf])
        is_better = worth[replies[0]] > _BETTER * worth[members[0]]
        first = [members[0], replies.pop(0)] if is_better else members[:1]
        return self._only_allowed(first), self._only_allowed(leaf for leaf in replies if worth[leaf])

    def _only_allowed(self, leaves: Iterable[int]) -> list[int]:
        return [leaf for leaf in leaves if self._allowed is None or leaf in self._allowed]

    def _candidates(self) -> set[int]:
        index = self._index
        times = [set(index.within(span.start, span.end)) for span in self._question.spans]
        speaker = self._speaker()
        named = None if speaker is None else (WEIGHTS.speaker, speaker)
        return candidates(self._words, self._postings, named, times, self._allowed, index.newest_blocks)

    def _speaker(self) -> Set[int] | None:
        """The leaves of the speaker that the question names, if it names one."""
        return self._postings[SPEAKER + self._names[0]].keys() if len(self._names) == 1 else None

    def _named(self) -> Iterator[int]:
        """The leaves of the named speaker and of the named times, oldest first.

        People introduce themselves early, so the oldest come first. A long history uses only named times, if
        they have few leaves.
        """
        said, index = self._speaker(), self._index
        if said is not None and self._is_short:
            is_few = len(said) <= _MAX_NAMED
            oldest = said if is_few else (leaf for leaf in index.numbers[:_MAX_SCANNED] if leaf in said)
            yield from islice(oldest, _MAX_NAMED)
        for span in self._question.spans:
            inside = index.within(span.start, span.end)
            if self._is_short or len(inside) <= _MAX_NAMED:
                yield from inside[:_MAX_NAMED]

    def _add_cues(self, scores: Scores, top: float) -> None:
        """Add the weights of cues, as shares of the best score by terms."""
        question, cues = self._question, list[tuple[float, Set[int]]]()
        if (said := self._speaker()) is not None:
            cues.append((WEIGHTS.speaker, {self._postings.exchange_of[leaf] for leaf in said}))
        if question.spans:
            cues.append((WEIGHTS.date, {number for number in scores if question.names(self._at(number))}))
        for share, exchanges in cues:
            for number in exchanges & scores.keys():
                scores[number] += share * top

    def _at(self, exchange: int) -> float:
        """The time of an exchange, whose message may have been removed."""
        return self._index.at[exchange] or self._index.at[self._postings.last[exchange]]

    def _ranked(self, scores: Scores, limit: int, by_terms: Container[int]) -> _Ranked:
        """Rank exchanges, best first; of equal ones the newest, which more likely still holds.

        Exchanges without a term of the question, found only by speaker or time, come after equal ones with a
        term, oldest first.
        """
        if len(scores) > limit:
            least = sorted(scores.values())[-limit] if limit else inf
            scores = {number: value for number, value in scores.items() if value >= least}
        oldest = sorted(sorted(scores), key=self._at)
        ranked = [number for number in reversed(oldest) if number in by_terms]
        ranked += [number for number in oldest if number not in by_terms]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return [(number, scores[number]) for number in ranked[:limit]]

    def _with_vectors(self, vector: Sequence[float], ranked: _Ranked) -> _Ranked:
        """Re-rank the best by the vectors of their messages; the rest stays behind them."""
        best, rest = ranked[:RANKED], ranked[RANKED:]
        shown = {number: self._first_and_replies(number)[0] for number, _ in best}
        first = {number: leaves[0] for number, leaves in shown.items() if leaves}
        self._index.leaves(first.values())  # loads their vectors too
        asked, vectors = unit(vector), self._index.vectors
        known = {number: leaf for number, leaf in first.items() if leaf in vectors}
        alike = {number: similarity(asked, vectors[leaf]) for number, leaf in known.items()}
        self.without_vectors = [leaf for leaf in first.values() if leaf not in vectors]
        fused_scores = fused(best, alike, WEIGHTS.vector)
        return sorted(fused_scores.items(), key=lambda pair: -pair[1]) + rest


def _terms_to_load(question: Question) -> Iterator[str]:
    """The terms and marks whose lists a search may need."""
    for term in question.terms:
        yield from (term, *related(term), NAME + term, SPEAKER + term)
    yield CHANGES
