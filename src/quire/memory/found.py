"""What a search found: hits with scores and reasons, each said once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from time import gmtime, strftime

from quire.memory.leaf import Leaf
from quire.memory.ranking import Question
from quire.memory.times import shown_at
from quire.memory.words import related, terms, words_by_term

_LENT_BEFORE, _LENT_AFTER = 2, 1
_MOST_WORDS, _LONGEST_WORD = 6, 40
_AROUND_A_WORD = ".,;:!?\"'()[]{}<>*_`\u201c\u201d\u2018\u2019\u2026"

Around = Callable[[Leaf, int, int], Sequence[Leaf]]


class Hit:
    """A leaf that was found. The best match by words has a score of 1; other signals may add to it."""

    __slots__ = ("_found", "is_earlier", "leaf", "question", "score")

    def __init__(self, leaf: Leaf, score: float, is_earlier: bool, found: "Found") -> None:
        self.leaf, self.score, self.question, self._found = leaf, score, found.question, found
        self.is_earlier = is_earlier
        """Whether a newer message says that what this is about has changed."""

    def __repr__(self) -> str:
        return f"Hit({self.leaf.key!r}, {self.score:.3f})"

    @property
    def reason(self) -> str:
        """Why it was found, in a few words; computed on demand."""
        return self._found.reason(self.leaf)


class Found:
    """What was found for a question: `hits`, best first.

    `is_evident` is false where the best hit shares so little with the question that this has likely nothing
    to do with the record: a prompt then brings nothing back. `without_vectors` are leaves that have none yet.
    """

    def __init__(
        self,
        question: Question,
        best: Iterable[tuple[Leaf, float, bool]],
        around: Around,
        *,
        without_vectors: Sequence[Leaf] = (),
        is_evident: bool = True,
    ) -> None:
        self.question, self.around = question, around
        self._words: dict[tuple[str, str], dict[str, str]] = {}
        self.without_vectors, self.is_evident = without_vectors, is_evident
        self.note = ""
        """Said in each reason."""
        self.hits = tuple(Hit(*one, self) for one in best)

    def reason(self, leaf: Leaf) -> str:
        """Why a leaf was found: its own terms, those of its neighbours, its speaker and its time."""
        reasons = list(self._reasons(leaf)) or ["by whom or when the question names"]
        return "; ".join(filter(None, (*reasons, self.note)))

    @cached_property
    def _asked(self) -> Mapping[str, str]:
        """The terms of the question as they are written there."""
        return words_by_term(self.question.text)

    def _reasons(self, leaf: Leaf) -> Iterator[str]:
        question, own = self.question, self._matched(leaf)
        if own:
            yield f"has {_listed(own.values())}"
        beside = dict[str, str]()
        for near in self.around(leaf, _LENT_BEFORE, _LENT_AFTER):
            if (near.source, near.key) not in question.own:
                beside = self._matched(near) | beside
        if lent := [beside[term] for term in question.terms if term in beside and term not in own]:
            yield f"beside a turn that has {_listed(lent)}"
        if not set(question.terms).isdisjoint(terms(leaf.speaker)):
            yield f"said by {leaf.speaker}"
        if question.names(leaf.at):
            yield f"from {strftime('%B %Y', gmtime(shown_at(leaf.at, question.zone)))}"

    def _matched(self, leaf: Leaf) -> dict[str, str]:
        """The terms of the question that a leaf has, each with the word that is there."""
        key = leaf.source, leaf.key
        if key not in self._words:
            here, found = words_by_term(leaf.text), dict[str, str]()
            for term in self.question.terms:
                other = next((one for one in (term, *related(term)) if one in here), None)
                if other is not None:
                    asked = f" for {_quoted(self._asked.get(term, term), term)}" if other != term else ""
                    found[term] = f"{_quoted(here[other], other)}{asked}"
            self._words[key] = found
        return self._words[key]


def _quoted(word: str, term: str) -> str:
    """A word that is written; if it is as long as a line of JSON, the term that it has."""
    return f'"{word.strip(_AROUND_A_WORD) if len(word) <= _LONGEST_WORD else term}"'


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


def distinct(search: Search, many: int, *, evident: bool = False) -> Sequence[Said]:
    """So many hits that say different things, best first.

    With `evident`, none where the question has likely nothing to do with what is recorded.
    """
    looked_at = max(2 * many, _LEAST)  # some say the same
    while True:
        answer = search(looked_at)
        if evident and not answer.is_evident:
            return []
        found = once(answer.hits)
        if len(found) >= many or len(answer.hits) < looked_at or looked_at >= _FURTHEST:
            return found[:many]
        looked_at = min(2 * looked_at, _FURTHEST)


def once(hits: Iterable[Hit]) -> list[Said]:
    """Hits of the same speaker and the same words together, in the place of the best."""
    found: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        found.setdefault((hit.leaf.speaker, hit.leaf.said), []).append(hit)
    return list(found.values())
