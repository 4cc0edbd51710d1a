"""How well leaves answer the words of a question: BM25 over their own words and those lent to them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from math import log
from typing import NamedTuple

from quire.memory.expansion import kinds, near_words, same_words
from quire.memory.ranking.names import as_name, is_name
from quire.memory.ranking.postings import NOBODY, Postings
from quire.memory.ranking.weights import Weights

_UNHEARD = 99.0
_ONCE_IS_ENOUGH = 0.1
"""How soon a word of a name that comes again counts no more."""


class Wanted(NamedTuple):
    """A word of a question with what may stand for it, and the most that each may count."""

    word: str
    members: tuple[tuple[str, float], ...]


Scores = dict[int, float]


def stand_ins(word: str, weights: Weights) -> Iterable[tuple[str, float]]:
    """What may stand for a word, and the share of it that each is worth; a word of a name comes last."""
    for others, share in (
        (same_words(word), 1.0),
        (near_words(word), weights.near),
        (kinds(word), weights.kind),
    ):
        if share > 0:
            yield from ((other, share) for other in others)
    yield as_name(word), weights.name


def wanted(asked: Sequence[str], postings: Postings, weights: Weights) -> list[Wanted]:
    """Those words of a question of which something is there; none counts more than the word it stands for."""
    found: list[Wanted] = []
    there = postings.leaves_with
    for word in asked:
        most = _rarity(word, postings) if word in there else _UNHEARD
        members = [(word, most)] if word in there else []
        members += (
            (other, share * min(most, _rarity(other, postings)))
            for other, share in stand_ins(word, weights)
            if other in there and other not in asked
        )
        if members:
            found.append(Wanted(word, tuple(members)))
    return found


def _rarity(word: str, postings: Postings) -> float:
    count, carriers = len(postings), postings.carriers[word]
    return log(1 + (count - carriers + 0.5) / (carriers + 0.5))


def scored(
    words: Sequence[Wanted],
    postings: Postings,
    weights: Weights,
    within: Set[int] | None,
    without: Set[int] = frozenset(),
) -> Scores:
    """The sum over words of the best that each leaf has of it; `within` says who is looked at, if not all.

    The words of those `without` whom it is made are lent to nobody.
    """
    total: Scores = {}
    for word in words:
        best = _best(word.members, postings, weights, within, without)
        if not total:
            total = best
            continue
        for leaf, value in best.items():
            total[leaf] = total.get(leaf, 0.0) + value
    return total


def _best(
    members: Sequence[tuple[str, float]],
    postings: Postings,
    weights: Weights,
    within: Set[int] | None,
    without: Set[int],
) -> Scores:
    flat = weights.saturation * (1 - weights.length)
    slope = weights.saturation * weights.length * len(postings) / (postings.total or 1.0)
    gain = weights.saturation + 1
    lengths, lent = postings.length, weights.lent()
    best: Scores = {}
    for word, most in members:
        scale = most * gain
        if is_name(word):
            _add_named(best, word, scale, postings, within, without)
            continue
        mass = _carried(word, postings, lent, within, without)
        values = {leaf: scale * one / (one + flat + slope * lengths[leaf]) for leaf, one in mass.items()}
        if not best:
            best = values
            continue
        for leaf, value in values.items():
            if leaf not in best or value > best[leaf]:
                best[leaf] = value
    return best


def _add_named(
    best: Scores, word: str, scale: float, postings: Postings, within: Set[int] | None, without: Set[int]
) -> None:
    """Add what a word of a name is worth: to each of a document the same, and a little more to its beginning.

    It counts beside what a piece says itself, however long that is, and nobody has it from a neighbour.
    """
    leaves = postings.leaves_with[word]
    for leaf in leaves if within is None else leaves.keys() & within:
        if leaf not in without:
            told = leaves[leaf][0]
            best[leaf] = best.get(leaf, 0.0) + scale * told / (told + _ONCE_IS_ENOUGH)


def _carried(
    word: str,
    postings: Postings,
    lent: Sequence[tuple[float, float]],
    within: Set[int] | None,
    without: Set[int],
) -> Scores:
    """How much of a word each leaf carries. Written out: this is where the time of a question goes."""
    (_, own), (told1, asked1), (told2, asked2), (told4, asked4), (told_1, asked_1), (told_2, asked_2) = lent
    leaves, lends_to, shares = postings.leaves_with[word], postings.lends_to, postings.share
    mass: Scores = defaultdict(float)
    for leaf in leaves if within is None else leaves.keys() & within:
        if leaf in without:
            continue
        told, asked = leaves[leaf]
        share = shares[leaf]
        itself, next1, next2, next4, back1, back2 = lends_to[leaf]
        mass[itself] += told + own * asked
        mass[next1] += share * (told1 * told + asked1 * asked)
        mass[next2] += share * (told2 * told + asked2 * asked)
        mass[next4] += share * (told4 * told + asked4 * asked)
        mass[back1] += share * (told_1 * told + asked_1 * asked)
        mass[back2] += share * (told_2 * told + asked_2 * asked)
    mass.pop(NOBODY, None)
    return mass
