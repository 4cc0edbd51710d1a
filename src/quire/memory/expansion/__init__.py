"""What may stand for a word of a question: other spellings, near words, and things of a kind."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from quire.memory.expansion.kinds import KINDS
from quire.memory.expansion.near_words import NEAR_WORDS
from quire.memory.expansion.same_words import SAME_WORDS
from quire.memory.words import terms

__all__ = ["kinds", "near_words", "same_words"]

Lists = dict[str, tuple[str, ...]]


def same_words(term: str) -> tuple[str, ...]:
    """The terms of other ways to write a word."""
    return _same().get(term, ())


def near_words(term: str) -> tuple[str, ...]:
    """The terms of words that say nearly the same."""
    return _near().get(term, ())


def kinds(term: str) -> tuple[str, ...]:
    """The terms of common things of a kind, where a word names one."""
    return _of_a_kind().get(term, ())


# Read when first asked for: to bring a few thousand words to their terms takes some milliseconds.
@cache
def _same() -> Lists:
    return _both_ways(SAME_WORDS)


@cache
def _near() -> Lists:
    return _without(_both_ways(NEAR_WORDS), _same())


@cache
def _of_a_kind() -> Lists:
    found: dict[str, set[str]] = defaultdict(set)
    for line in KINDS.split(";"):
        names, members = line.split(":")
        for name in terms(names):
            found[name].update(terms(members))
    return _without(_without(_sorted(found), _near()), _same())


def _both_ways(lines: str) -> Lists:
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines.split(";"):
        together = terms(line)
        for term in together:
            found[term].update(together)
    return _sorted(found)


def _sorted(found: dict[str, set[str]]) -> Lists:
    return {term: tuple(sorted(others - {term})) for term, others in found.items()}


def _without(lists: Lists, others: Lists) -> Lists:
    """Each word with what no better list has for it."""
    return {term: _left(found, others.get(term, ())) for term, found in lists.items()}


def _left(found: Iterable[str], taken: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(term for term in found if term not in taken)
