"""What a search found: hits with scores and reasons, each said once."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import gmtime, strftime
from typing import Literal

from quire.memory.dates import shown_at
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question, Weights, stand_ins, told_and_asked
from quire.memory.words import terms

_LENT_BEFORE, _LENT_AFTER = 4, 2
_MOST_WORDS = 6
_AROUND_A_WORD = ".,;:!?\"'()[]{}<>*_`\u201c\u201d\u2018\u2019\u2026"

How = Literal["words", "vectors"]
_BY: dict[How, str] = {
    "words": "by whom or when the question names",
    "vectors": "close to the question by its vector",
}
Around = Callable[[Leaf, int, int], Sequence[Leaf]]


class Hit:
    """A leaf that was found. The best by terms alone has a score of 1; cues may add to it."""

    __slots__ = ("_found", "leaf", "question", "score")

    def __init__(self, leaf: Leaf, score: float, found: "Found") -> None:
        self.leaf, self.score, self.question, self._found = leaf, score, found.question, found

    def __repr__(self) -> str:
        return f"Hit({self.leaf.key!r}, {self.score:.3f})"

    @property
    def reason(self) -> str:
        """Why it was found, in a few words; computed on demand."""
        return self._found.reason(self.leaf)


class Found:
    """What was found for a question: `hits`, best first.

    `is_evident` is false where the best hit shares so little with the question that this has likely nothing
    to do with the record: a prompt then brings nothing back. `lacking` are leaves that have no vector yet.
    """

    def __init__(
        self,
        question: Question,
        best: Iterable[tuple[Leaf, float]],
        around: Around,
        how: How = "words",
        *,
        lacking: Sequence[Leaf] = (),
        is_evident: bool = True,
    ) -> None:
        self.question, self._around, self.lacking, self.is_evident = question, around, lacking, is_evident
        self.how: How = how
        self._note = ""
        self.hits = tuple(Hit(leaf, score, self) for leaf, score in best)

    def noting(self, note: str) -> "Found":
        """The same, with a note in each reason."""
        self._note = note
        return self

    def reason(self, leaf: Leaf) -> str:
        """Why a leaf was found: its own terms, those of its neighbours, its speaker and its time."""
        told = _reasons(self.question, leaf, self._around(leaf, _LENT_BEFORE, _LENT_AFTER))
        return "; ".join(filter(None, ("; ".join(told) or _BY[self.how], self._note)))

    @staticmethod
    def merged(found: Sequence["Found"], limit: int) -> "Found":
        """What several searches found, each leaf once, best first."""
        best: dict[tuple[str, str, str], Hit] = {}
        for hit in (hit for one in found for hit in one.hits):
            key = (hit.leaf.source, hit.leaf.transcript, hit.leaf.key)
            if key not in best or best[key].score < hit.score:
                best[key] = hit
        together = Found(found[0].question, (), found[0]._around, found[0].how)
        together.is_evident = any(one.is_evident for one in found)
        together.hits = tuple(sorted(best.values(), key=lambda hit: -hit.score)[:limit])
        return together


def _reasons(question: Question, leaf: Leaf, around: Sequence[Leaf]) -> Iterator[str]:
    asked, here = _written(question.text), _written(leaf.text)
    own = dict(_matched(question.dated.counting(question.terms, here), asked, here))
    if own:
        yield f"has {_listed(own.values())}"
    others = (near.text for near in around if (near.source, near.key) not in question.own)
    beside = _written("\n".join(others))
    counting = [term for term in question.dated.counting(question.terms, beside) if term not in own]
    lent = dict(_matched(counting, asked, beside))
    if lent:
        yield f"beside a turn that has {_listed(lent.values())}"
    if not set(question.terms).isdisjoint(terms(leaf.speaker)):
        yield f"said by {leaf.speaker}"
    meant = question.meant()
    if meant and meant[0] <= leaf.at < meant[1]:
        yield f"from {strftime('%B %Y', gmtime(shown_at(leaf.at, question.zone)))}"


def _written(text: str) -> dict[str, str]:
    """Each term of a text as it is first written there."""
    found: dict[str, str] = {}
    for word in text.split():
        for term in terms(word):
            found.setdefault(term, word.strip(_AROUND_A_WORD))
    return found


def _matched(
    wanted: Sequence[str], asked: Mapping[str, str], here: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for term in wanted:
        if term in here:
            yield term, f'"{here[term]}"'
            continue
        other = next((other for other, _ in stand_ins(term, Weights()) if other in here), None)
        if other is not None:
            yield term, f'"{here[other]}" for "{asked.get(term, term)}"'


def _listed(said: Iterable[str]) -> str:
    words = list(dict.fromkeys(said))  # an identifier is asked for in parts too
    more = len(words) - _MOST_WORDS
    return ", ".join(words[:_MOST_WORDS]) + (f" and {more} more" if more > 0 else "")


# The same said again

Search = Callable[[int], Found]
"""The best for a question, at most so many."""

Said = Sequence[Hit]
"""Hits of one speaker in the same words, best first."""

_LEAST, _FURTHEST = 64, 4_096
"""How many hits are looked at, to know when else the same was said; and at most, where many are the same."""

_MORE = 32
"""A text with more than twice the characters of a question, and these, says something of its own."""

_ASKS = ("?", "\uff1f", "\u061f")
_AFTER = " \n\"')*_"
_WORD = re.compile(r"\w+")


def distinct(search: Search, question: str, many: int, *, evident: bool = False) -> Sequence[Said]:
    """So many hits that say different things, best first; those that only repeat the question come last.

    With `evident`, none where the question has likely nothing to do with what is recorded.
    """
    looked_at = max(many, _LEAST)
    while True:
        answer = search(looked_at)
        if evident and not answer.is_evident:
            return []
        hits = answer.hits
        found = once(hits)
        if len(found) >= many or len(hits) < looked_at or looked_at >= _FURTHEST:
            return _questions_last(found[:many], question)
        looked_at = min(2 * looked_at, _FURTHEST)


def once(hits: Iterable[Hit]) -> list[Said]:
    """Hits of the same speaker and the same words together, in the place of the best."""
    found: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        found.setdefault((hit.leaf.speaker, hit.leaf.said), []).append(hit)
    return list(found.values())


def _questions_last(found: list[Said], question: str) -> list[Said]:
    words = _words(question)
    longest = 2 * len(question) + _MORE
    return sorted(found, key=lambda said: _repeats(said[0].leaf.said, words, longest))


def _repeats(text: str, words: list[str], longest: int) -> bool:
    """Whether a text is the question that has these words, or asks for the same and says no more."""
    if len(text) > longest:
        return False
    folded = text.casefold()
    if not all(word in folded for word in words):  # nearly always, and cheap
        return False
    if not text.rstrip(_AFTER).endswith(_ASKS):
        return _words(text) == words
    told, _ = told_and_asked(text)
    return not told.strip() and set(_words(text)).issuperset(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
