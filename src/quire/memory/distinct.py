"""What was said again in the same words is found once, as it was said last; no question answers itself."""

import re
from collections.abc import Callable, Iterable, Sequence

from quire.memory.index import Found, Hit
from quire.memory.index.orders import rank_of
from quire.memory.ranking.sentences import told_and_asked

Search = Callable[[int], Found]
"""The best for a question, so many at most."""

_LEAST, _FURTHEST = 64, 4_096
"""So many are looked at anyway, to know the newest of the same, and so many for want of different ones."""

_MORE = 32
"""Letters more than twice those of a question; what is longer says something of its own."""

_ASKS = ("?", "\uff1f", "\u061f")
_AFTER = " \n\"')*_"

_WORD = re.compile(r"\w+")


def distinct(search: Search, question: str, many: int) -> Sequence[Hit]:
    """So many hits that say different things, best first; who only asks the same comes last."""
    looked_at = max(many, _LEAST)
    while True:
        hits = search(looked_at).hits
        found = once(hits)
        if len(found) >= many or len(hits) < looked_at or looked_at >= _FURTHEST:
            return _questions_last(found[:many], question)
        looked_at = min(2 * looked_at, _FURTHEST)


def once(hits: Iterable[Hit]) -> list[Hit]:
    """Hits of the same speaker and the same words as one: the newest of them, in the place of the best."""
    found: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        said = hit.leaf.speaker, hit.leaf.text
        known = found.get(said)
        if known is None or rank_of(hit.leaf) > rank_of(known.leaf):
            found[said] = hit  # which leaves it where the first of them stood
    return list(found.values())


def _questions_last(hits: list[Hit], question: str) -> list[Hit]:
    words = _words(question)
    longest = 2 * len(question) + _MORE
    same = {id(hit) for hit in hits if len(hit.leaf.text) <= longest and _asks_for(hit.leaf.text, words)}
    return sorted(hits, key=lambda hit: id(hit) in same) if same else hits


def _asks_for(text: str, words: list[str]) -> bool:
    """Whether a text is the question that has these words, or asks for the same and says no more."""
    folded = text.casefold()
    if not all(word in folded for word in words):  # nearly always, and soon seen
        return False
    if not text.rstrip(_AFTER).endswith(_ASKS):
        return _words(text) == words
    told, _ = told_and_asked(text)
    return not told.strip() and set(_words(text)).issuperset(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
