"""Query expansion: terms that may stand for a term of a question. The lists are in `expansion.toml`."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from quire.memory.words import terms

_Lists = dict[str, tuple[str, ...]]


class Expansion(NamedTuple):
    """By term: other spellings, words of nearly the same sense, and members of a kind."""

    same: _Lists
    near: _Lists
    kinds: _Lists


@cache
def expansion() -> Expansion:
    """Read the lists, once; stemming a few thousand words takes some milliseconds.

    A term is in one list only of another term: the one that counts most.
    """
    lists = tomllib.loads(files("quire.memory").joinpath("expansion.toml").read_text("utf-8"))
    same = _symmetric(lists["same"])
    near = _without(_symmetric(lists["near"]), same)
    return Expansion(same, near, _without(_without(_members(lists["kinds"]), near), same))


def _symmetric(groups: Iterable[str]) -> _Lists:
    found: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        together = terms(group)
        for term in together:
            found[term].update(together)
    return _sorted(found)


def _members(groups: Iterable[str]) -> _Lists:
    found: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        names, members = group.split(":")
        for name in terms(names):
            found[name].update(terms(members))
    return _sorted(found)


def _sorted(found: dict[str, set[str]]) -> _Lists:
    return {term: tuple(sorted(others - {term})) for term, others in found.items()}


def _without(lists: _Lists, better: _Lists) -> _Lists:
    return {
        term: tuple(other for other in others if other not in better.get(term, ()))
        for term, others in lists.items()
    }
