"""A question put to what is held: by words first, then by cues, then by vectors where there are some."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from itertools import islice
from math import inf
from typing import NamedTuple

from quire.memory.index.found import How
from quire.memory.index.holding import Holding
from quire.memory.index.index import Only
from quire.memory.ranking import Question, Weights
from quire.memory.ranking.cues import Cue, with_cues
from quire.memory.ranking.places import Then, is_short, window
from quire.memory.ranking.scoring import Scores, Wanted, scored, wanted
from quire.memory.ranking.vectors import RANKED, fused, likeness, unit

Ranked = list[tuple[int, float]]


class Ranking(NamedTuple):
    """The best leaves by number, best first, with scores; how they were found, and which lack a vector.

    `asked` is the question as it was looked for.
    """

    hits: Ranked
    how: How
    lacking: Sequence[int]
    asked: Question


_MORE = 1_000
"""So many of whom or when a question names come after those that have its words."""

_LOOKED_AT = 4_000


def search(held: Holding, weights: Weights, question: Question, limit: int, only: Only | None) -> Ranking:
    """What answers a question, of what is held."""
    allowed = None if only is None else held.allowed(only)
    question = question.among(held.speakers)
    names = [term for term in question.terms if term in held.speakers]
    counted = list(filter(question.dated.is_word, question.terms))
    asked = [term for term in counted if term not in names] or counted
    words = wanted(asked, held.postings, weights)
    meant, short = question.meant(), is_short(words, held.postings)
    times = [] if short else [held.orders.during(span) for span in question.times()]
    then = times[-1] if times else None
    within = None if short else _window(held, weights, words, names, allowed, times)
    scores = _by_words(held, weights, question, words, within)
    top, by_words = max(scores.values(), default=1.0), frozenset(scores)
    for number in _named(held, question, names) if short else _few(held, then, meant):
        scores.setdefault(number, 0.0)
    for number in held.numbered(question.own):
        scores.pop(number, None)
    if not scores:
        return _without_words(held, question, limit, allowed)
    with_cues(scores, _cues(held, weights, question, names, scores), top)
    if allowed is not None:
        scores = {number: scores[number] for number in allowed & scores.keys()}
    ranked = _ranked(held, scores, limit if question.vector is None else max(limit, RANKED), by_words)
    lacking: Sequence[int] = ()
    if question.vector is not None:
        ranked, lacking = _with_vectors(held, weights, question.vector, ranked, by_words)
    return Ranking([(number, score / top) for number, score in ranked[:limit]], "words", lacking, question)


def _by_words(
    held: Holding, weights: Weights, question: Question, words: list[Wanted], within: Set[int] | None
) -> Scores:
    """What words are worth, those of a time where it is said; the turn that asks counts for nobody."""
    own = held.numbered(question.own)
    scores = scored(words, held.postings, weights, within, own)
    for more, those in list(_of_times(held, question, scores, within)):
        for number, worth in scored(
            wanted(more, held.postings, weights), held.postings, weights, those, own
        ).items():
            scores[number] = scores.get(number, 0.0) + worth
    return {number: score for number, score in scores.items() if number not in own} if own else scores


def _of_times(
    held: Holding, question: Question, scores: Scores, within: Set[int] | None
) -> Iterator[tuple[list[str], set[int]]]:
    """The terms of each time that the question names, and the leaves in which they count."""
    there, dated = held.postings.leaves_with, question.dated
    said = [there[one].keys() for one in sorted(dated.beside) if one in there]
    yield (
        sorted(dated.numbers),
        set[int]().union(*(said if within is None else (one & within for one in said))),
    )
    for distance in dated.distances:
        those = set(scores) if all(one in there for one in distance) else set[int]()
        for one in sorted(distance) if those else ():
            those = there[one].keys() & those
        yield sorted(distance & dated.units), those


def _window(
    held: Holding,
    weights: Weights,
    words: list[Wanted],
    names: list[str],
    allowed: Set[int] | None,
    times: Sequence[Then],
) -> set[int]:
    named = (weights.speaker, held.speakers[names[0]]) if len(names) == 1 else None
    return window(words, held.postings, held.rows, named, allowed, times)


def _few(held: Holding, then: Then | None, meant: tuple[float, float] | None) -> Iterable[int]:
    """All that is from the time that is named, where that is not much."""
    return held.orders.oldest_first(meant) if then is not None and len(then) <= _MORE else ()


def _named(held: Holding, question: Question, names: list[str]) -> Iterator[int]:
    """What the one who is named said and what is from the time that is named, the oldest of it.

    Who somebody is, they say early; and what is new is mostly shown already.
    """
    if len(names) == 1:
        said = held.speakers[names[0]]
        looked_at = islice(held.orders.oldest_first(), _LOOKED_AT) if len(said) > _MORE else ()
        yield from islice(filter(said.__contains__, looked_at), _MORE) if looked_at else said
    if meant := question.meant():
        yield from islice(held.orders.oldest_first(meant), _MORE)


def _cues(
    held: Holding, weights: Weights, question: Question, names: list[str], among: Iterable[int]
) -> Iterator[Cue]:
    yield Cue(weights.asks, held.asking)
    if len(names) == 1:
        yield Cue(weights.speaker, held.speakers[names[0]])
    if question.asks_when:
        yield Cue(weights.says_time, held.timed)
    if question.span is not None:
        yield from _dated(held, weights, question, among)


def _dated(held: Holding, weights: Weights, question: Question, among: Iterable[int]) -> Iterator[Cue]:
    """What is from the time that is named, together what is as near to it."""
    worth = weights.said_then if question.asks_what_was_said else weights.date
    near: defaultdict[float, set[int]] = defaultdict(set)
    for number in among:
        near[question.nearness(held.leaves[number].at)].add(number)
    return (Cue(worth * share, leaves) for share, leaves in near.items() if share)


def _ranked(held: Holding, scores: Scores, limit: int, said: Container[int]) -> Ranked:
    """Best first, of equal ones the newest, for what was said later holds.

    Of those that only are by whom or when the question names, it is the oldest: who somebody is, they say
    early. They come after those in which something is `said` of it.
    """
    if len(scores) > limit:
        least = sorted(scores.values())[-limit] if limit else inf
        scores = {number: score for number, score in scores.items() if score >= least}
    oldest = sorted(scores, key=held.orders.rank.__getitem__)
    ranked = [number for number in reversed(oldest) if number in said]
    ranked += [number for number in oldest if number not in said]
    ranked.sort(key=scores.__getitem__, reverse=True)
    return [(number, scores[number]) for number in ranked[:limit]]


def _with_vectors(
    held: Holding, weights: Weights, vector: Iterable[float], ranked: Ranked, said: Container[int]
) -> tuple[Ranked, Sequence[int]]:
    """The best moved by what vectors say of them; what is beyond them stays behind them."""
    best, rest = ranked[:RANKED], ranked[RANKED:]
    asked = unit(list(vector))
    known = held.vectors_of([number for number, _ in best])
    alike = {number: likeness(asked, own) for number, own in known.items()}
    moved = _ranked(held, fused(best, alike, weights.vector), RANKED, said)
    return moved + rest, [number for number, _ in best if number not in known]


def _without_words(held: Holding, question: Question, limit: int, allowed: Set[int] | None) -> Ranking:
    """By vectors where there are some; nothing for a turn that asks nothing, whatever its vector is like."""
    if question.vector is None or not question.terms:
        return Ranking([], "words", (), question)
    newest = held.orders.newest_first()
    those = newest if allowed is None else filter(allowed.__contains__, newest)
    looked_at = list(islice(those, _LOOKED_AT))
    known = held.vectors_of(looked_at)
    asked = unit(question.vector)
    alike = {number: close for number, own in known.items() if (close := likeness(asked, own)) > 0}
    lacking = [number for number in looked_at[:RANKED] if number not in known]
    return Ranking(_ranked(held, alike, limit, alike), "vectors", lacking, question)
