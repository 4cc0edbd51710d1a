"""Ranking: how well exchanges answer a question, computed from terms, neighbours, speakers and times.

Terms are scored by BM25 over all that an exchange carries: its message, its replies and its neighbours. Cues
(the speaker and the time) then add shares of the best score. All weights are in `Weights`.
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

from quire.memory.postings import NAME, Counts, Lent, Postings, in_grains
from quire.memory.times import Span, spans_of, terms_without_times
from quire.memory.words import GENERIC, asks_for_nothing, related

Scores = dict[int, float]
"""By the number of an exchange."""


class Weights(Struct, frozen=True, kw_only=True):
    """All weights, tuned on several sets of conversations with known answers; the optimum is flat."""

    own_question: float = 0.5
    """Terms in the questions of a message: who asks does not know yet."""
    reply: float = 0.3
    """Terms of a reply: an assistant repeats the question at length, and adds what nobody asked for."""
    before: tuple[float, float] = (0.3, 1.0)
    """Terms of the message before, in statements and in questions: an answer follows its question."""
    two_before: float = 0.5
    """Terms of the message two before: mostly the same speaker, who goes on."""
    after: float = 0.3
    saturation: float = 1.2
    """k1 of BM25: how soon more repetitions of a term stop to count."""
    length: float = 0.75
    """b of BM25: how much a long exchange is discounted."""
    related: float = 0.3
    """A related term: a word of nearly the same sense, or a member of the kind that the term names."""
    name: float = 0.2
    """A word of a document's name, or of a heading above a chunk."""
    speaker: float = 0.2
    """Added if the speaker whom the question names said it, as a share of the best score by terms."""
    date: float = 0.3
    """Added if it is from the time that the question names, as a share of the same score."""
    evidence: float = 0.4
    """The share of a question that an exchange must match if the question is about the record."""
    vector: float = 0.35
    """The weight of vectors beside terms."""

    def lent(self) -> Lent:
        """The weights of a message's own terms, then of those it lends to its neighbours at `OFFSETS`."""
        others = (self.two_before, self.after)
        shares = ((1.0, self.own_question), self.before, *((weight, weight) for weight in others))
        return tuple((in_grains(stated), in_grains(asked)) for stated, asked in shares)


WEIGHTS = Weights()


# The question

_LONGEST_QUESTION = 4_000
_MOST_TERMS = 64


class Question(Struct, frozen=True, kw_only=True):
    """A parsed question: the terms to search for, and the times that it names.

    Of more than 4,000 characters only the beginning and the end are read. `asked_in` are the messages that
    ask it, by source and key, which cannot answer it. Days are those of `zone`.
    """

    text: str
    terms: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    is_of_past: bool = False
    """Whether it asks how something was before it changed."""
    asked_in: frozenset[tuple[str, str]] = frozenset()
    zone: tzinfo = UTC
    vector: Sequence[float] | None = None

    @staticmethod
    def of(
        text: str, now: float, *, zone: tzinfo = UTC, asked_in: Iterable[tuple[str, str]] = ()
    ) -> "Question":
        """Parse a question that is asked at a time and in a zone, in some messages."""
        half = _LONGEST_QUESTION // 2
        read = text if len(text) <= _LONGEST_QUESTION else f"{text[:half]} {text[-half:]}"
        spans = spans_of(read, now, zone)
        found = terms_without_times(read, spans)
        return Question(
            text=text,
            terms=() if asks_for_nothing(text) else tuple(dict.fromkeys(found))[:_MOST_TERMS],
            spans=tuple(spans),
            is_of_past=_PAST.search(read) is not None,
            asked_in=frozenset(asked_in),
            zone=zone,
        )

    def names(self, at: float) -> bool:
        """Whether a time is within one that the question names."""
        return any(span.start <= at < span.end for span in self.spans)


# Statements and questions of a text

# The dots in 3.5 and config.py end no sentence.
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[\u3002\uff1f\u061f])")
_ASKING = ("?", "\uff1f", "\u061f")


def statements_and_questions(text: str) -> tuple[str, str]:
    """Split a text into its statements and its questions."""
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
_CHANGE_WITHIN = 600  # characters from the beginning of a text


def says_change(text: str) -> bool:
    """Whether a text says that something has changed."""
    return _CHANGE.search(text[:_CHANGE_WITHIN]) is not None


# Scores by terms

_BEST_CHECKED = 10
"""The best exchanges, which are checked for evidence that a question is about the record."""

_NAME_SATURATION = 0.1
"""k1 for the words of a name."""

Word = Sequence[tuple[str, float]]
"""A term of a question and the terms that may replace it, each with its weight."""


def words_of(asked: Sequence[str], postings: Postings) -> list[Word]:
    """The words of a question that the postings have. No replacement weighs more than the term itself."""
    words: list[Word] = []
    for term in asked:
        weight = rarity(term, postings)
        others = [*((other, WEIGHTS.related) for other in related(term)), (NAME + term, WEIGHTS.name)]
        word = [(term, weight)] if term in postings else []
        word += (
            (other, share * min(weight, rarity(other, postings)))
            for other, share in others
            if other in postings and other not in asked
        )
        if word:
            words.append(word)
    return words


def rarity(term: str, postings: Postings) -> float:
    """The inverse document frequency of a term."""
    held = len(postings[term])
    return log(1 + (len(postings) - held + 0.5) / (held + 0.5))


_YOUNG = 60
"""In a record of fewer leaves most terms are new, so one word is enough, and a smaller share."""

_EVIDENT_WORDS = 2
_MAX_NEW_TERMS = 4
"""All terms together weigh at most as much as this many that the record lacks, because most terms of a long
message do not matter."""


def is_evident(asked: Sequence[str], words: Sequence[Word], scores: Scores, postings: Postings) -> bool:
    """Whether one of the best exchanges matches a question so well that the question is about the record.

    The exchange must have two words of the question, numbers aside, or its only word, and two fifths of the
    weight of all its words. Generic words do not count, unless there are no others.
    """
    # A word may have two stems, of which the first counts.
    stems = [term for term, last in zip(asked, ("\n", *asked), strict=False) if term[:3] != last[:3]]
    own = [term for term in stems if term not in GENERIC] or stems
    possible = min(sum(rarity(term, postings) for term in own), _MAX_NEW_TERMS * log(2 * len(postings) + 2))
    least = min(_EVIDENT_WORDS if len(postings) >= _YOUNG else 1, len(own))
    share = WEIGHTS.evidence * min(1.0, len(postings) / _YOUNG)
    weights = {term: max(weight for _, weight in word) for word in words if (term := word[0][0]) in own}
    for exchange in nlargest(_BEST_CHECKED, scores, key=scores.__getitem__):
        leaves = postings.members(exchange)
        held = {
            term: weight
            for term, weight in weights.items()
            if any(leaf in postings[form] for form in (term, NAME + term) for leaf in leaves)
        }
        named = sum(not term.isdigit() for term in held)
        if named >= least and sum(held.values()) >= share * possible:
            return True
    return False


def score(
    words: Sequence[Word], postings: Postings, within: Set[int] | None, without: Set[int] = frozenset()
) -> Scores:
    """The scores of exchanges: each is a sum over the words, in which a word counts with its best term.

    Only leaves `within` are read; those in `without` are ignored.
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


def _best(word: Word, postings: Postings, within: Set[int] | None, without: Set[int]) -> Scores:
    flat = WEIGHTS.saturation * (1 - WEIGHTS.length)
    slope = WEIGHTS.saturation * WEIGHTS.length * postings.exchanges / (postings.total or 1.0)
    lengths = postings.length
    best: Scores = {}
    for term, weight in word:
        scale = weight * (WEIGHTS.saturation + 1)
        leaves = postings[term]
        held = leaves.items() if within is None else [(leaf, leaves[leaf]) for leaf in leaves.keys() & within]
        if term.startswith(NAME):
            # It counts beside the text of a chunk, whatever its length, and is lent to no neighbour.
            for leaf, (stated, _) in held:
                if leaf not in without:
                    best[leaf] = best.get(leaf, 0.0) + scale * stated / (stated + _NAME_SATURATION)
            continue
        values = {
            leaf: scale * mass / (mass + flat + slope * length)
            for leaf, mass in _carried(held, postings, without).items()
            if (length := lengths[leaf]) >= 0.0
        }
        if not best:
            best = values
            continue
        for leaf, value in values.items():
            if leaf not in best or value > best[leaf]:
                best[leaf] = value
    return best


def _carried(held: Iterable[tuple[int, Counts]], postings: Postings, without: Set[int]) -> Scores:
    """How much of a term each exchange carries, absent ones included.

    This is the hot loop, so it is written out for each of the `OFFSETS`: 1, 2 and -1.
    """
    (_, own), (stated1, asked1), (stated2, asked2), (stated_1, asked_1) = postings.lent
    shares, exchange_of, receives = postings.share, postings.exchange_of, postings.receives
    reply = postings.replied
    mass: Scores = defaultdict(float)
    lent: Scores = defaultdict(float)
    for leaf, (stated, asked) in held:
        if leaf in without:
            continue
        share = shares[leaf]
        if (exchange := exchange_of[leaf]) != leaf:
            mass[exchange] += reply * share * (stated + asked)
            continue
        mass[leaf] += stated + own * asked
        lent[leaf + 1] += share * (stated1 * stated + asked1 * asked)
        lent[leaf + 2] += share * (stated2 * stated + asked2 * asked)
        lent[leaf - 1] += share * (stated_1 * stated + asked_1 * asked)
    for leaf, value in lent.items():
        mass[leaf] += receives[leaf] * value
    return mass


# Candidates, for a history too long to score every leaf with a term

FEW = 1_500
"""The most postings of a question for which every leaf is scored, without candidates."""

_MAX_READ = 4_000
"""The postings that are read to find blocks."""

_BLOCK = 4
"""The consecutive leaves of a block."""

_MAX_BLOCKS = 60
_MAX_FOUND = 10 * _MAX_BLOCKS


def is_short(words: Sequence[Word], postings: Postings) -> bool:
    """Whether a question has few enough postings to score every leaf."""
    return sum(len(postings[member]) for word in words for member, _ in word) <= FEW


def candidates(
    words: Sequence[Word],
    postings: Postings,
    named: tuple[float, Set[int]] | None,
    times: Sequence[Set[int]],
    allowed: Set[int] | None,
    newest: Callable[[Iterable[int], int], list[int]],
) -> set[int]:
    """The leaves in and beside the blocks that match a question best.

    Rare terms find blocks; common terms and the `named` speaker (its weight, as a share of all terms, and its
    leaves) choose among them. A term counts once per block. The leaves of each of the `times` count like a
    term with the weight of all. `newest` chooses among equal blocks, by the numbers of their first leaves.
    """
    total = sum(max(worth for _, worth in word) for word in words)
    listed: list[tuple[float, int, Set[int]]] = [
        (worth, nth, postings[member].keys() if allowed is None else postings[member].keys() & allowed)
        for nth, word in enumerate(words)
        for member, worth in word
    ]
    listed.sort(key=lambda row: (-row[0], row[1]))
    blocks = _Blocks(newest)
    common = [] if named is None else [(named[0] * total, len(words), named[1])]
    left = _MAX_READ
    for worth, nth, leaves in listed:
        if len(leaves) > left and blocks.weights:
            common.append((worth, nth, leaves))
        else:
            left -= len(leaves)
            blocks.add(worth, nth, leaves)
    for nth, leaves in enumerate(times, len(words) + 1):
        blocks.add(total, nth, leaves & _leaves_of(blocks.weights))
    blocks.keep_best(_MAX_FOUND)
    inside = _leaves_of(blocks.weights)
    for worth, nth, leaves in common:
        blocks.add(worth, nth, leaves & inside)
    blocks.keep_best(_MAX_BLOCKS)
    near = {block + step for block in blocks.weights for step in (-1, 0, 1)}
    return {leaf for leaf in _leaves_of(near) if postings.exchange_of[leaf] >= 0}


def _leaves_of(blocks: Iterable[int]) -> set[int]:
    return {leaf for block in blocks for leaf in range(_BLOCK * block, _BLOCK * (block + 1))}


class _Blocks:
    """The weights of blocks: how well each matches a question."""

    def __init__(self, newest: Callable[[Iterable[int], int], list[int]]) -> None:
        self.weights: dict[int, float] = {}
        self._counted: defaultdict[int, set[int]] = defaultdict(set)
        self._newest = newest

    def add(self, worth: float, nth: int, leaves: Set[int]) -> None:
        """Add the weight of the nth term to the blocks of some leaves, once per block."""
        blocks = {leaf // _BLOCK for leaf in leaves} - self._counted[nth]
        self._counted[nth] |= blocks
        weights = self.weights
        for block in blocks:
            weights[block] = weights.get(block, 0.0) + worth

    def keep_best(self, count: int) -> None:
        """Keep the best blocks; of equal ones the newest."""
        if len(self.weights) <= count:
            return
        least = sorted(self.weights.values())[-count]
        best = {block: value for block, value in self.weights.items() if value > least}
        equals = (_BLOCK * block for block, value in self.weights.items() if value == least)
        newest = self._newest(equals, count - len(best))
        self.weights = best | {leaf // _BLOCK: least for leaf in newest}


# Vectors

RANKED = 200
"""The best exchanges by terms, which vectors re-rank: products of vectors are slow in plain Python."""


def unit(vector: Sequence[float]) -> "array[float]":
    """The unit vector of the same direction; a zero vector stays as it is."""
    length = sqrt(sum(part * part for part in vector))
    return array("f", vector if not length else [part / length for part in vector])


def similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two unit vectors; 0 for vectors of different embeddings."""
    return sum(map(mul, one, other)) if len(one) == len(other) else 0.0


def fused(best: Sequence[tuple[int, float]], alike: Mapping[int, float], weight: float) -> Scores:
    """Scores by terms plus weighted similarities, in standard deviations from the mean."""
    by_terms, both = dict(best), [leaf for leaf, _ in best if leaf in alike]
    if not both:
        return by_terms
    _, spread = _deviations([by_terms[leaf] for leaf in both])
    vectors, _ = _deviations([alike[leaf] for leaf in both])
    for leaf, deviation in zip(both, vectors, strict=True):
        by_terms[leaf] += weight * spread * deviation
    return by_terms


def _deviations(values: Sequence[float]) -> tuple[list[float], float]:
    """Each value's distance from the mean in standard deviations, and the standard deviation."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values], spread
