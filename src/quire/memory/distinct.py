"""What was said again in the same words is found once, as it answers best; no question answers itself."""

import re
from collections.abc import Callable, Iterable, Sequence

from quire.memory.index import Found, Hit
from quire.memory.ranking.sentences import told_and_asked

Search = Callable[[int], Found]
"""The best for a question, so many at most."""

Said = Sequence[Hit]
"""Hits of one speaker in the same words, the best first."""

_LEAST, _FURTHEST = 64, 4_096
"""So many are looked at anyway, to know when else the same was said, and so many for want of others."""

_MORE = 32
"""Letters more than twice those of a question; what is longer says something of its own."""

_ASKS = ("?", "\uff1f", "\u061f")
_AFTER = " \n\"')*_"

_WORD = re.compile(r"\w+")


def distinct(search: Search, question: str, many: int) -> Sequence[Said]:
    """So many that say different things, best first; who only asks the same comes last."""
    looked_at = max(many, _LEAST)
    while True:
        hits = search(looked_at).hits
        found = once(hits)
        if len(found) >= many or len(hits) < looked_at or looked_at >= _FURTHEST:
            return _questions_last(found[:many], question)
        looked_at = min(2 * looked_at, _FURTHEST)


def once(hits: Iterable[Hit]) -> list[Said]:
    """Hits of the same speaker and the same words together, in the place of the best.

    Who asks for a day, or for what was said beside it, means that one. Of those that a question does not tell
    apart the newest comes first, as hits do.
    """
    found: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        found.setdefault((hit.leaf.speaker, hit.leaf.said), []).append(hit)
    return list(found.values())


def _questions_last(found: list[Said], question: str) -> list[Said]:
    words = _words(question)
    longest = 2 * len(question) + _MORE
    texts = [said[0].leaf.said for said in found]
    same = [len(text) <= longest and _asks_for(text, words) for text in texts]
    if not any(same):
        return found
    return [
        said for is_same in (False, True) for said, one in zip(found, same, strict=True) if one is is_same
    ]


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
