"""Ranking: how well exchanges answer a question. Pure arithmetic on terms, neighbours, speakers and times.

Terms count by BM25 over what an exchange carries: its message, its replies and its neighbours. Cues (who said
it, and when) then add shares of the best score. `Weights` is the one table of what counts how much.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import UTC, tzinfo
from heapq import nlargest
from math import log, sqrt
from operator import mul

from msgspec import Struct

from quire.memory.postings import Lent, Postings, Times, in_grains, is_name, name_mark
from quire.memory.times import Span, spans_of, terms_without_times
from quire.memory.words import GENERIC, asks_for_nothing, related

Scores = dict[int, float]
"""By the number of a leaf."""


class Weights(Struct, frozen=True, kw_only=True):
    """Found by search on several sets of conversations with known answers; the optimum is flat."""

    own_question: float = 0.5
    """Terms in a message's own questions: whoever asks does not know yet."""
    reply: float = 0.3
    """Terms of a reply: an assistant repeats the question at length and adds what nobody asks for."""
    before: tuple[float, float] = (0.3, 1.0)
    """Terms of the message before, in statements and in questions: an answer follows its question."""
    two_before: float = 0.5
    """Mostly the same speaker, going on."""
    after: float = 0.3
    saturation: float = 1.2
    """How soon a repeated term counts no more: k1 of BM25."""
    length: float = 0.75
    """How much a long exchange is discounted: b of BM25."""
    related: float = 0.3
    """A word of nearly the same sense in place of a term, or a member in place of its kind."""
    name: float = 0.2
    """A word of a document's name, or of a heading above a chunk."""
    speaker: float = 0.2
    """This and the next are shares of the best score by terms. Said by the speaker who is named."""
    date: float = 0.3
    """From the time that the question names."""
    evidence: float = 0.4
    """The share of a question that an exchange must have if the question has to do with the record."""
    vector: float = 0.35
    """How much vectors count beside terms."""

    def lent(self) -> Lent:
        """What a leaf has of its own terms, then what it lends by `OFFSETS`."""
        alike = (self.two_before, self.after)
        shares = ((1.0, self.own_question), self.before, *((one, one) for one in alike))
        return tuple((in_grains(stated), in_grains(asked)) for stated, asked in shares)


WEIGHTS = Weights()


# The question

_LONGEST_QUESTION = 4_000
_MOST_TERMS = 64


class Question(Struct, frozen=True, kw_only=True):
    """A question, parsed: the terms to look for, and the times that it names.

    Of a question longer than 4,000 characters the beginning and the end are read. `own` are the turns in
    which the question is asked, by source and key; they do not answer it. Days are those of `zone`.
    """

    text: str
    terms: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    is_of_past: bool = False
    """Whether it asks how something was before it changed."""
    own: frozenset[tuple[str, str]] = frozenset()
    zone: tzinfo = UTC
    vector: Sequence[float] | None = None

    @staticmethod
    def of(
        text: str,
        now: float,
        *,
        zone: tzinfo = UTC,
        own: Iterable[tuple[str, str]] = (),
        vector: Sequence[float] | None = None,
    ) -> "Question":
        """A question asked at a time and in a zone, in some turns of its own."""
        half = _LONGEST_QUESTION // 2
        read = text if len(text) <= _LONGEST_QUESTION else f"{text[:half]} {text[-half:]}"
        spans = spans_of(read, now, zone)
        found = terms_without_times(read, spans)
        return Question(
            text=text,
            terms=() if asks_for_nothing(text) else tuple(dict.fromkeys(found))[:_MOST_TERMS],
            spans=tuple(spans),
            is_of_past=_PAST.search(read) is not None,
            own=frozenset(own),
            zone=zone,
            vector=vector,
        )

    def names(self, at: float) -> bool:
        """Whether a moment is within a time that is named."""
        return any(span.start <= at < span.end for span in self.spans)


# Statements and questions of a text

# Not every dot is an end: 3.5 and config.py have one inside.
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[\u3002\uff1f\u061f])")
_ASKING = ("?", "\uff1f", "\u061f")


def statements_and_questions(text: str) -> tuple[str, str]:
    """The statements of a text, and its questions."""
    if not any(mark in text for mark in _ASKING):
        return text, ""
    stated: list[str] = []
    asked: list[str] = []
    for sentence in filter(None, _BETWEEN_SENTENCES.split(text)):
        (asked if sentence.rstrip().endswith(_ASKING) else stated).append(sentence)
    return " ".join(stated), " ".join(asked)


_CHANGE = re.compile(
    r"\b(?:now|recently|lately|new|newer|updat(?:e|ed|ing)|chang(?:e|ed|ing)|moved|switched|replaced"
    r"|increased|improved|decreased|reduced|extended|expanded|reached|no longer|instead|anymore"
    r"|these days|since then|migrated|relocated|postponed|rescheduled|renamed|upgraded|raised|lowered"
    r"|retired|quit|sold|gave up)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|original(?:ly)?|initial(?:ly)?|former(?:ly)?|earlier|used to|at first"
    r"|back then|in the past|old|older)\b",
    re.IGNORECASE,
)
_CHANGE_WITHIN = 600


def says_change(text: str) -> bool:
    """Whether a text says that something is not as it was."""
    return _CHANGE.search(text[:_CHANGE_WITHIN]) is not None


# Scores by terms

_LOOKED_INTO = 10
"""The best exchanges that may show that a question has to do with the record."""

_NAME_SATURATION = 0.1
"""How soon a repeated word of a name counts no more."""

Wanted = Sequence[tuple[str, float]]
"""A term of a question and the terms that may stand for it, each with the most that it may count."""


def wanted(asked: Sequence[str], postings: Postings) -> list[Wanted]:
    """Those terms of a question that the postings have. No stand-in counts more than the term itself."""
    found: list[Wanted] = []
    for term in asked:
        most = rarity(term, postings)
        stand_ins = [*((other, WEIGHTS.related) for other in related(term)), (name_mark(term), WEIGHTS.name)]
        members = [(term, most)] if term in postings else []
        members += (
            (other, share * min(most, rarity(other, postings)))
            for other, share in stand_ins
            if other in postings and other not in asked
        )
        if members:
            found.append(members)
    return found


def rarity(term: str, postings: Postings) -> float:
    """The inverse document frequency of a term."""
    held = len(postings[term])
    return log(1 + (len(postings) - held + 0.5) / (held + 0.5))


_YOUNG = 60
"""In a record of fewer leaves most terms are unheard, so one word is enough, and a smaller share."""

_EVIDENT_WORDS = 2
_MOST_WORTH = 4
"""Unheard terms that all terms of a long turn are worth together: most of them are of no matter."""


def is_evident(asked: Sequence[str], words: Sequence[Wanted], scores: Scores, postings: Postings) -> bool:
    """Whether one of the best exchanges has so much of a question that it has to do with the record.

    It has two of its words, numbers aside, or its only one, and two fifths of what all of them are worth.
    Generic words do not count, unless there are no others.
    """
    # Of a word with two stems the first counts.
    stems = [term for term, last in zip(asked, ("\n", *asked), strict=False) if term[:3] != last[:3]]
    own = [term for term in stems if term not in GENERIC] or stems
    possible = min(sum(rarity(term, postings) for term in own), _MOST_WORTH * log(2 * len(postings) + 2))
    least = min(_EVIDENT_WORDS if len(postings) >= _YOUNG else 1, len(own))
    share = WEIGHTS.evidence * min(1.0, len(postings) / _YOUNG)
    wants = {term: max(most for _, most in word) for word in words if (term := word[0][0]) in own}
    for exchange in nlargest(_LOOKED_INTO, scores, key=scores.__getitem__):
        leaves = postings.members(exchange)
        held = {
            term: worth
            for term, worth in wants.items()
            if any(leaf in postings[one] for one in (term, name_mark(term)) for leaf in leaves)
        }
        named = sum(not term.isdigit() for term in held)
        if named >= least and sum(held.values()) >= share * possible:
            return True
    return False


def score(
    words: Sequence[Wanted],
    postings: Postings,
    within: Set[int] | None,
    without: Set[int] = frozenset(),
) -> Scores:
    """The sum over terms of the best that each exchange carries of a term. `within` limits the leaves read.

    Leaves in `without` lend no terms.
    """
    total: Scores = {}
    for word in words:
        best = _best(word, postings, within, without)
        if not total:
            total = best
            continue
        for leaf, value in best.items():
            total[leaf] = total.get(leaf, 0.0) + value
    return total


def _best(word: Wanted, postings: Postings, within: Set[int] | None, without: Set[int]) -> Scores:
    flat = WEIGHTS.saturation * (1 - WEIGHTS.length)
    slope = WEIGHTS.saturation * WEIGHTS.length * postings.exchanges / (postings.total or 1.0)
    lengths = postings.length
    best: Scores = {}
    for term, most in word:
        scale = most * (WEIGHTS.saturation + 1)
        leaves = postings[term]
        held = leaves.items() if within is None else [(leaf, leaves[leaf]) for leaf in leaves.keys() & within]
        if is_name(term):
            # It counts beside what a chunk says itself, however long that is, and is lent to nobody.
            for leaf, (stated, _) in held:
                if leaf not in without:
                    best[leaf] = best.get(leaf, 0.0) + scale * stated / (stated + _NAME_SATURATION)
            continue
        values = {
            leaf: scale * one / (one + flat + slope * length)
            for leaf, one in _carried(held, postings, without).items()
            if (length := lengths[leaf]) >= 0.0
        }
        if not best:
            best = values
            continue
        for leaf, value in values.items():
            if leaf not in best or value > best[leaf]:
                best[leaf] = value
    return best


def _carried(held: Iterable[tuple[int, Times]], postings: Postings, without: Set[int]) -> Scores:
    """How much of a term each exchange carries, also where none is. Written out: the hot loop."""
    (_, own), (stated1, asked1), (stated2, asked2), (stated_1, asked_1) = postings.lent
    shares, opened, receives = postings.share, postings.opened, postings.receives
    reply = postings.replied
    mass: Scores = defaultdict(float)
    lent: Scores = defaultdict(float)
    for leaf, (stated, asked) in held:
        if leaf in without:
            continue
        share = shares[leaf]
        if (exchange := opened[leaf]) != leaf:
            mass[exchange] += reply * share * (stated + asked)
            continue
        mass[leaf] += stated + own * asked
        lent[leaf + 1] += share * (stated1 * stated + asked1 * asked)
        lent[leaf + 2] += share * (stated2 * stated + asked2 * asked)
        lent[leaf - 1] += share * (stated_1 * stated + asked_1 * asked)
    for leaf, value in lent.items():
        mass[leaf] += receives[leaf] * value
    return mass


# Candidates, in a history too long to score every leaf that has a term

FEW = 1_500
"""Up to this many postings every one is scored, and no candidates are chosen."""

_READ = 4_000
"""Postings that are read to find places."""

_PLACE = 4
"""Leaves in a row that make one place."""

_CHOSEN = 60
_LOOKED_AT = 10 * _CHOSEN


def is_short(words: Sequence[Wanted], postings: Postings) -> bool:
    """Whether a question has so few postings that every leaf is scored."""
    return sum(len(postings[member]) for word in words for member, _ in word) <= FEW


def candidates(
    words: Sequence[Wanted],
    postings: Postings,
    named: tuple[float, Set[int]] | None,
    times: Sequence[Set[int]],
    allowed: Set[int] | None,
    newest: Callable[[Iterable[int], int], list[int]],
) -> set[int]:
    """The leaves in and beside the places that have most of a question.

    Rare terms find places; common terms and the `named` speaker (what that counts as a share of all terms,
    and the leaves) choose among the places found. Places of the first of some `times` come first, then those
    of the next. A place counts once for each term. `newest` chooses among equal places by first numbers.
    """
    whole = sum(max(worth for _, worth in word) for word in words)
    listed: list[tuple[float, int, Set[int]]] = [
        (worth, nth, postings[member].keys() if allowed is None else postings[member].keys() & allowed)
        for nth, word in enumerate(words)
        for member, worth in word
    ]
    listed.sort(key=lambda one: (-one[0], one[1]))
    places = _Places(newest)
    common = [] if named is None else [(named[0] * whole, len(words), named[1])]
    left = _READ
    for worth, nth, leaves in listed:
        if len(leaves) > left and places.weight:
            common.append((worth, nth, leaves))
        else:
            left -= len(leaves)
            places.add(worth, nth, leaves)
    for nth, leaves in enumerate(times, len(words) + 1):
        places.add(whole, nth, leaves & _leaves_of(places.weight))
    places.keep_best(_LOOKED_AT)
    among = _leaves_of(places.weight)
    for worth, nth, leaves in common:
        places.add(worth, nth, leaves & among)
    places.keep_best(_CHOSEN)
    near = {place + step for place in places.weight for step in (-1, 0, 1)}
    return {leaf for leaf in _leaves_of(near) if postings.opened[leaf] >= 0}


def _leaves_of(places: Iterable[int]) -> set[int]:
    return {leaf for place in places for leaf in range(_PLACE * place, _PLACE * (place + 1))}


class _Places:
    """How much of a question is in each place."""

    def __init__(self, newest: Callable[[Iterable[int], int], list[int]]) -> None:
        self.weight: dict[int, float] = {}
        self._counted: defaultdict[int, set[int]] = defaultdict(set)
        self._newest = newest

    def add(self, worth: float, nth: int, leaves: Set[int]) -> None:
        """Count the nth term in the places of some leaves, where it is not counted yet."""
        places = {leaf // _PLACE for leaf in leaves} - self._counted[nth]
        self._counted[nth] |= places
        weight = self.weight
        for place in places:
            weight[place] = weight.get(place, 0.0) + worth

    def keep_best(self, count: int) -> None:
        """Keep the places with most of the question, of equal ones the newest."""
        if len(self.weight) <= count:
            return
        least = sorted(self.weight.values())[-count]
        best = {place: value for place, value in self.weight.items() if value > least}
        equals = (_PLACE * place for place, value in self.weight.items() if value == least)
        newest = self._newest(equals, count - len(best))
        self.weight = best | {leaf // _PLACE: least for leaf in newest}


# Vectors

RANKED = 200
"""The best by terms that are compared by vectors: each takes a product of vectors, slow in plain Python."""


def unit(vector: Sequence[float]) -> "array[float]":
    """The vector of length one in the same direction; a zero vector stays as it is."""
    length = sqrt(sum(part * part for part in vector))
    return array("f", vector if not length else [part / length for part in vector])


def likeness(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two unit vectors; vectors of different embeddings are not alike."""
    return sum(map(mul, one, other)) if len(one) == len(other) else 0.0


def fused(best: Sequence[tuple[int, float]], alike: Mapping[int, float], most: float) -> Scores:
    """New scores for leaves: those by terms, and their likeness in deviations from the mean, weighted."""
    by_terms, both = dict(best), [leaf for leaf, _ in best if leaf in alike]
    if not both:
        return by_terms
    _, spread = _deviations([by_terms[leaf] for leaf in both])
    vectors, _ = _deviations([alike[leaf] for leaf in both])
    for leaf, deviation in zip(both, vectors, strict=True):
        by_terms[leaf] += most * spread * deviation
    return by_terms


def _deviations(values: Sequence[float]) -> tuple[list[float], float]:
    """Each value's distance from the mean in standard deviations, and the standard deviation."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values], spread
