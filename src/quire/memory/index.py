"""The index of a scope: leaves go in, and those that answer a question come out, best first.

It is exact whatever came and went. `snapshots` keeps a snapshot of it beside the store, in parts. An index
that is opened from a snapshot loads the leaves and lists that are asked for.
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
from quire.memory.found import Found
from quire.memory.leaf import LETTERS_READ, Kind, Leaf
from quire.memory.postings import (
    CHANGES,
    ROW,
    WISHES,
    Column,
    Load,
    Parts,
    Postings,
    digest_of,
    kind_mark,
    name_mark,
    origin_mark,
    part_name,
    source_mark,
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
    says_change,
    score,
    statements_and_questions,
    unit,
    wanted,
)
from quire.memory.wishes import wishes_in
from quire.memory.words import language_of, related, terms

MOST_HITS = 200
MOST_TERMS = 2_000
"""In a text with more terms each counts once: a log repeats itself."""


class LeafFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which leaves may come back; None stands for all."""

    sources: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None
    trust: Origin | None = None
    """The least origin that they have."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a source was read: its version, a digest of its last entry, and which log it was."""

    version: int
    last: bytes = b""
    log: str = ""


class _Transcript(msgspec.Struct, array_like=True):
    """How many leaves a transcript has, and the row of each stretch."""

    count: int
    rows: dict[int, int]


class _Head(msgspec.Struct, array_like=True):
    """What of an index is loaded first, beside the columns of `_COLUMNS`."""

    sources: dict[str, dict[str, _Transcript]]
    last_row: int
    count: int
    exchanges: int
    total: float
    marks: dict[str, Mark]


_OPENED = ("head", "numbers", "at", "opened", "length", "receives", "share", "terms")
"""The parts that every search needs."""

_EXPLAINED = 32
"""Hits, the best, whose neighbours are loaded with them: mostly these are shown, and receipts say why."""

_encode = msgspec.msgpack.Encoder().encode
_decode_leaf = msgspec.msgpack.Decoder(tuple[Leaf, bytes]).decode
_decode_head = msgspec.msgpack.Decoder(_Head).decode


class Index:
    """Leaves that can be found. A key of a transcript, and a place in it, has one leaf: the last put.

    What is found depends on the leaves and not on how they came there; of leaves with equal scores and times
    the last put comes first. Calls may come from any thread.
    """

    def __init__(self) -> None:
        self.postings = Postings(WEIGHTS.lent(), WEIGHTS.reply)
        self.at: Column[float] = Column(0.0, "at")
        self.vectors: dict[int, array[float]] = {}
        self.marks: dict[str, Mark] = {}
        """How far each source was read."""
        self.states: dict[str, bytes | None] = {}
        """Where reading continues in sources that changed since the last snapshot; None if they are gone."""
        self.changes = 0
        """How many leaves were put or removed."""
        self.saved = 0
        """What `changes` was when the last snapshot was made."""
        self.lock = RLock()
        self._leaves: dict[int, Leaf] = {}
        self._importance: Column[float] = Column(0.0, "importance")
        # The numbers of leaves, by a digest of transcript and key.
        self._keys: Column[int] = Column(-1, "keyed", "q", of="keys")
        self._sources: dict[str, dict[str, _Transcript]] = {}
        self._last_row = 0
        self._load: Load | None = None
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return len(self.postings)

    @cached_property
    def numbers(self) -> "array[int]":
        """The leaves in the order of time, of equal times the last put last."""
        return array("q", self._part("in time"))

    @cached_property
    def _times(self) -> "array[float]":
        return array("d", self._part("times"))

    def _part(self, name: str) -> bytes:
        return b"" if self._load is None else self._load((name,))[name]

    # Changing

    def put(self, leaves: Iterable[Leaf]) -> None:
        """Add leaves, in place of those with the same keys or in the same places."""
        with self.lock:
            for leaf in leaves:
                self._put(leaf)

    def remove(self, source: str, keys: Iterable[str]) -> None:
        """Remove leaves of a source, in whichever transcript; a key that is not there does no harm."""
        with self.lock:
            for number in self.numbered((source, key) for key in keys):
                self._remove(number)

    def drop(self, source: str) -> None:
        """Remove all leaves of a source."""
        with self.lock:
            for number in self.allowed(LeafFilter(sources=frozenset((source,)))):
                self._remove(number)

    def update(
        self, source: str, mark: Mark | None, *, gone: Iterable[str] = (), leaves: Iterable[Leaf] = ()
    ) -> None:
        """Remove the keys that are gone, put leaves, and mark how far a source was read, in one step.

        Without a mark, before or now, nothing of the source stays that was there.
        """
        with self.lock:
            if mark is None or source not in self.marks:
                self.drop(source)
            self.remove(source, gone)
            self.put(leaves)
            if mark is None:
                self.marks.pop(source, None)
                self.states[source] = None
            else:
                self.marks[source] = mark

    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        """Keep vectors for leaves that are there as they are given; a vector goes with its leaf."""
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
            number = self._number(leaf)  # its transcript may have gone with it
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
        """The number of the place of a leaf."""
        transcripts = self._sources.setdefault(leaf.source, {})
        rows = transcripts.setdefault(leaf.transcript, _Transcript(0, {})).rows
        if leaf.stretch not in rows:
            self._last_row += 1
            rows[leaf.stretch] = self._last_row
        return rows[leaf.stretch] * ROW + leaf.order

    def _has(self, number: int) -> bool:
        return self.postings.opened[number] >= 0

    def _remove(self, number: int) -> None:
        leaf = self.leaf(number)
        found = _terms_of(leaf)
        self.postings.remove(number, (*found.stated, *found.asked, *found.marks))
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

    def _transcript(self, leaf: Leaf) -> _Transcript | None:
        return self._sources.get(leaf.source, {}).get(leaf.transcript)

    # Asking

    def search(self, question: Question, *, limit: int = MOST_HITS, only: LeafFilter | None = None) -> Found:
        """The leaves that answer a question, best first; none where nothing does."""
        with self.lock:
            search = _Search(self, question, only)
            ranked = search.run(limit)
            shown = (n for number, _ in ranked[:_EXPLAINED] for n in range(number - 2, number + 2))
            self.leaves(filter(self._has, shown))  # a reason names neighbours: all are loaded at once
            leaves = self.leaves(number for number, _ in ranked)
            best = [
                (leaf, score, number in search.earlier)
                for leaf, (number, score) in zip(leaves, ranked, strict=True)
            ]
            bare = self.leaves(search.without_vectors)
            return Found(question, best, self.around, without_vectors=bare, is_evident=search.is_evident)

    def newest(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """The newest leaves, oldest first."""
        with self.lock:
            return self.leaves(islice(self._newest_first(only), limit))[::-1]

    def weightiest(self, limit: int, only: LeafFilter | None = None) -> list[Leaf]:
        """The most important leaves, of equal ones the newest, the most important first."""
        with self.lock:
            newest = self._newest_first(only)  # of equal ones the first
            return self.leaves(nlargest(limit, newest, key=self._importance.__getitem__))

    def wishes(self, most: int) -> list[Leaf]:
        """The newest messages of users with standing instructions or preferences, the newest first."""
        with self.lock:
            found = sorted(self.postings[WISHES], key=lambda number: (self.at[number], number))
            return self.leaves(found[: -most - 1 : -1])

    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        """The neighbours of a leaf, in order, without it."""
        with self.lock:
            transcript = self._transcript(leaf)
            if transcript is None or leaf.stretch not in transcript.rows:
                return []
            own = transcript.rows[leaf.stretch] * ROW + leaf.order
            near = (*range(own - before, own), *range(own + 1, own + after + 1))
            return self.leaves(filter(self._has, near))

    def leaf(self, number: int) -> Leaf:
        """A leaf by its number."""
        return self.leaves((number,))[0]

    def leaves(self, numbers: Iterable[int]) -> list[Leaf]:
        """Leaves by their numbers, loaded at once with their vectors."""
        wanted = list(numbers)
        names = {f"#{number:x}": number for number in wanted if number not in self._leaves}
        if names and self._load is not None:
            for name, body in self._load(names).items():
                number = names[name]
                self._leaves[number], vector = _decode_leaf(body)
                if vector:
                    self.vectors[number] = array("f", vector)
        return [self._leaves[number] for number in wanted]

    def numbered(self, keys: Iterable[tuple[str, str]]) -> set[int]:
        """The leaves by source and key, of all transcripts."""
        places = ((source, one, key) for source, key in keys for one in self._sources.get(source, ()))
        return {number for place in places if (number := self._keys[digest_of(*place)]) >= 0}

    def allowed(self, only: LeafFilter) -> Set[int]:
        """The leaves of some sources, kinds and origins."""
        trusted = None if only.trust is None else ORIGINS[: ORIGINS.index(only.trust) + 1]
        filters = (only.sources, source_mark), (only.kinds, kind_mark), (trusted, origin_mark)
        found = [self._listed(map(mark, names)) for names, mark in filters if names is not None]
        return set[int].intersection(*found) if found else set(self.numbers)

    def _listed(self, marks: Iterable[str]) -> set[int]:
        return set[int]().union(*map(self.postings.__getitem__, marks))

    def within(self, start: float, end: float) -> "array[int]":
        """The leaves of a span of time, oldest first."""
        return self.numbers[bisect_left(self._times, start) : bisect_left(self._times, end)]

    def newest_of(self, places: Iterable[int], count: int) -> list[int]:
        """Of places of four, by their first number, the newest."""
        at = self.at.__getitem__

        def newest(one: int) -> float:
            return at(one + 3) or at(one) or at(one + 1) or at(one + 2)

        return nlargest(count, places, key=newest)

    def _newest_first(self, only: LeafFilter | None) -> Iterator[int]:
        newest = reversed(self.numbers)
        return newest if only is None else filter(self.allowed(only).__contains__, newest)

    # Snapshots

    def parts(self) -> Parts:
        """What changed since the last snapshot, or all if there was none; to be followed by `on_saved`."""
        if self._load is not None:
            self._load(())  # an error if the snapshot is another by now
        opened = self.postings.opened  # the first place of an exchange may have no leaf any more
        numbers = array("q", sorted({*self.numbers, *map(opened.__getitem__, self.numbers)}))
        postings = self.postings
        head = _Head(self._sources, self._last_row, len(self), postings.exchanges, postings.total, self.marks)
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
        """How many leaves are in memory."""
        return len(self._leaves)

    @property
    def may_be_dropped(self) -> bool:
        """Whether the snapshot that it loads from has all of it."""
        return self.is_saved and self.saved == self.changes

    @property
    def is_saved(self) -> bool:
        """Whether it loads from a snapshot."""
        return self._load is not None

    @classmethod
    def of_snapshot(cls, load: Load) -> "Index":
        """The index that a snapshot was made of."""
        index, loaded = cls(), dict(load(_OPENED))
        head = _decode_head(loaded["head"])

        def part(name: str) -> bytes:
            if name not in loaded:
                loaded.update(load((name,)))
            return loaded[name]

        index._load = load
        index._sources, index._last_row, index.marks = head.sources, head.last_row, head.marks
        for column in (index.at, index._importance, index._keys):
            column.part = part
        index.postings.open(load, part, head.count, head.exchanges, head.total)
        return index


def _key_of(leaf: Leaf) -> int:
    return digest_of(leaf.source, leaf.transcript, leaf.key)


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
    marks = [kind_mark(leaf.kind), source_mark(leaf.source), origin_mark(leaf.origin)]
    if leaf.is_of_user and any(wishes_in(text)):
        marks.append(WISHES)
    if says_change(text):
        marks.append(CHANGES)
    if leaf.speaker not in ROLES:
        marks += map(speaker_mark, terms(leaf.speaker))
    if start:
        names = list(map(name_mark, dict.fromkeys(terms(leaf.text[:start], language=language_of(leaf.text)))))
        # Whoever asks for no more than the name of a document means its beginning.
        marks += 2 * names if leaf.is_beginning else names
    return _Terms(stated, asked, marks)


def _bounded(found: list[str]) -> list[str]:
    return found if len(found) <= MOST_TERMS else list(dict.fromkeys(found))


# A search

_Ranked = list[tuple[int, float]]

_COMPARED, _CLOSE, _SAME, _EARLIER = 5, 0.3, 0.2, 0.7
"""How many are compared to find what changed; the least share of the older one's score; and of what that has
of the question, to come before it, and to mark it as earlier."""

_BETTER = 1.5
"""How many times more of the question a reply must have to be shown beside its message."""

LAG = 12
"""So many exchanges are shown in short before more is shown of the first."""

ROLES = frozenset(("user", "assistant", "system", "summary"))
"""What a leaf's speaker is called if nobody is named."""

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
        self.earlier: set[int] = set()
        """Messages about what a newer one says has changed."""
        self._allowed = None if only is None else index.allowed(only)
        self._own = index.numbered(question.own)
        index.postings.fetch(_looked_up(question))
        self._names = [term for term in question.terms if speaker_mark(term) in index.postings]
        self._asked = [term for term in question.terms if term not in self._names] or question.terms
        self._words = wanted(self._asked, self._postings)
        self._is_short = is_short(self._words, self._postings)

    def run(self, limit: int) -> _Ranked:
        """The best leaves with their scores, best first."""
        question = self._question
        within = None if self._is_short else self._candidates()
        scores = score(self._words, self._postings, within, self._own)
        top, by_terms = max(scores.values(), default=1.0), frozenset(scores)
        if question.vector is None and not question.spans and not self._names:
            self.is_evident = is_evident(self._asked, self._words, scores, self._postings)
        for number in self._named():
            scores.setdefault(self._postings.opened[number], 0.0)
        self._add_cues(scores, top)
        if self._allowed is not None:
            kept = {self._postings.opened[number] for number in self._allowed}
            scores = {number: scores[number] for number in kept & scores.keys()}
        if question.vector is None:
            ranked = self._ranked(scores, limit, by_terms)
        else:
            ranked = self._with_vectors(question.vector, self._ranked(scores, max(limit, RANKED), by_terms))
        ranked = self._newer_first(ranked)
        return [(number, value / top) for number, value in islice(self._leaves(ranked), limit)]

    def _newer_first(self, ranked: _Ranked) -> _Ranked:
        """Among the very best, a message that says that something changed before older ones about the same.

        "I moved to Bergen" comes before "I live in Oslo", which is marked as earlier. A question about how it
        was before, or at a time that it names, leaves them in their order.
        """
        is_of_then = self._question.is_of_past or bool(self._question.spans)
        scores, order = dict(ranked[:_COMPARED]), list[int]()
        changes = self._postings[CHANGES].keys() & scores.keys()
        for number, value in scores.items():
            near = (one for one in scores if number in changes and value >= _CLOSE * scores[one])
            # "move" stands for "live" in a question, but not all that moved is about the same.
            older = {one: self._shared(one, number, by_own_words=one in changes) for one in near}
            self.earlier |= {one for one, share in older.items() if share >= _EARLIER}
            behind = (nth for nth, other in enumerate(order) if older.get(other, 0.0) >= _SAME)
            order.insert(len(order) if is_of_then else next(behind, len(order)), number)
        return [*zip(order, scores.values(), strict=True), *ranked[_COMPARED:]]

    def _shared(self, older: int, newer: int, *, by_own_words: bool) -> float:
        """How much of what a message has of the question a newer one has too; 0 if it is no newer."""
        held, other = (self._held(leaf, by_own_words=by_own_words) for leaf in (older, newer))
        if not held or self._at(newer) <= self._at(older):
            return 0.0
        return sum(worth for word, worth in held.items() if word in other) / sum(held.values())

    def _held(self, leaf: int, *, by_own_words: bool = False) -> dict[int, float]:
        """What of the question a leaf has itself, and what each word is worth."""
        has, own = self._postings.__getitem__, self._asked if by_own_words else None
        return {
            nth: max(found)
            for nth, word in enumerate(self._words)
            if (found := [most for one, most in word if leaf in has(one) and (own is None or one in own)])
        }

    def _leaves(self, ranked: _Ranked) -> Iterator[tuple[int, float]]:
        """The leaves of exchanges: of each its message, and the best reply if that has more of the question.

        Other replies that have some of it come later, those of one exchange after every second other one.
        """
        waiting: list[list[int]] = []
        for nth, (exchange, value) in enumerate(ranked, 1):
            first, others = self._first_and_others(exchange)
            yield from ((leaf, value) for leaf in first)
            waiting.append(others)
            if nth >= LAG and nth % 2 == 0:
                yield from ((leaf, value) for leaf in waiting[(nth - LAG) // 2])
        least = ranked[-1][1] if ranked else 0.0
        for others in waiting[max(0, (len(ranked) - LAG) // 2 + 1) :]:
            yield from ((leaf, least) for leaf in others)

    def _first_and_others(self, exchange: int) -> tuple[list[int], list[int]]:
        """The leaves of an exchange to show first, and the replies that may follow."""
        allowed, own = self._allowed, self._own
        leaves = [
            leaf
            for leaf in self._postings.members(exchange)
            if leaf not in own and (allowed is None or leaf in allowed)
        ]
        if len(leaves) < 2:
            return leaves, []
        worth = {leaf: sum(self._held(leaf).values()) for leaf in leaves}
        replies = sorted(leaves[1:], key=lambda leaf: -worth[leaf])
        is_better = worth[replies[0]] > _BETTER * worth[leaves[0]]
        first = [leaves[0], replies.pop(0)] if is_better else leaves[:1]
        return first, [leaf for leaf in replies if worth[leaf]]

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
        question, cues = self._question, list[tuple[float, Set[int]]]()
        if (said := self._speaker()) is not None:
            cues.append((WEIGHTS.speaker, {self._postings.opened[leaf] for leaf in said}))
        if question.spans:
            cues.append((WEIGHTS.date, {one for one in scores if question.names(self._at(one))}))
        for share, exchanges in cues:
            for number in exchanges & scores.keys():
                scores[number] += share * top

    def _at(self, exchange: int) -> float:
        """When an exchange was: it may have lost its message."""
        return self._index.at[exchange] or self._index.at[self._postings.last[exchange]]

    def _ranked(self, scores: Scores, limit: int, by_terms: Container[int]) -> _Ranked:
        """Best first, of equal ones the newest: what was said later holds.

        Exchanges without a term of the question, found by speaker or time alone, come after equal ones that
        have a term, the oldest first.
        """
        if len(scores) > limit:
            least = sorted(scores.values())[-limit] if limit else inf
            scores = {number: one for number, one in scores.items() if one >= least}
        oldest = sorted(sorted(scores), key=self._at)
        ranked = [number for number in reversed(oldest) if number in by_terms]
        ranked += [number for number in oldest if number not in by_terms]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return [(number, scores[number]) for number in ranked[:limit]]

    def _with_vectors(self, vector: Sequence[float], ranked: _Ranked) -> _Ranked:
        """The best, moved by the vectors of their messages; the rest stays behind them."""
        best, rest = ranked[:RANKED], ranked[RANKED:]
        first = {number: one[0] for number, _ in best if (one := self._first_and_others(number)[0])}
        self._index.leaves(first.values())  # with their vectors
        asked, vectors = unit(vector), self._index.vectors
        alike = {number: likeness(asked, vectors[leaf]) for number, leaf in first.items() if leaf in vectors}
        self.without_vectors = [leaf for leaf in first.values() if leaf not in vectors]
        moved = fused(best, alike, WEIGHTS.vector)
        return sorted(moved.items(), key=lambda one: -one[1]) + rest


def _looked_up(question: Question) -> Iterator[str]:
    """The terms whose lists a question may need."""
    for term in question.terms:
        yield from (term, *related(term), name_mark(term), speaker_mark(term))
    yield CHANGES
