"""Hits: the results of a search, with scores and reasons. Hits of the same words are joined."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from time import gmtime, strftime

from quire.memory.leaf import Leaf
from quire.memory.ranking import Question
from quire.memory.times import shown_at
from quire.memory.words import related, terms, words_by_term

_NEIGHBOURS_BEFORE, _NEIGHBOURS_AFTER = 2, 1
_MOST_WORDS, _LONGEST_WORD = 6, 40
_AROUND_A_WORD = ".,;:!?\"'()[]{}<>*_`\u201c\u201d\u2018\u2019\u2026"

Neighbours = Callable[[Leaf, int, int], Sequence[Leaf]]


class Hit:
    """A leaf that was found. The best match by words has a score of 1; other signals may add to it."""

    __slots__ = ("_result", "is_outdated", "leaf", "question", "score")

    def __init__(self, leaf: Leaf, score: float, is_outdated: bool, result: "SearchResult") -> None:
        self.leaf, self.score, self.question, self._result = leaf, score, result.question, result
        self.is_outdated = is_outdated
        """Whether a newer message says that this has changed."""

    def __repr__(self) -> str:
        return f"Hit({self.leaf.key!r}, {self.score:.3f})"

    @property
    def reason(self) -> str:
        """Why it was found, in a few words; computed on demand."""
        return self._result.reason(self.leaf)


class SearchResult:
    """The result of a search: `hits`, best first.

    `is_evident` is false if the best hit has so little of the question that the question is likely not about
    the record: then `Recall` shows nothing. `without_vectors` are leaves without vectors.
    """

    def __init__(
        self,
        question: Question,
        best: Iterable[tuple[Leaf, float, bool]],
        neighbours: Neighbours,
        *,
        without_vectors: Sequence[Leaf] = (),
        is_evident: bool = True,
    ) -> None:
        self.question, self.neighbours = question, neighbours
        self._words: dict[tuple[str, str], dict[str, str]] = {}
        self.without_vectors, self.is_evident = without_vectors, is_evident
        self.note = ""
        """A remark that is added to the reason of each hit."""
        self.hits = tuple(Hit(*row, self) for row in best)

    def reason(self, leaf: Leaf) -> str:
        """Why a leaf was found: by its terms, those of its neighbours, its speaker or its time."""
        reasons = list(self._reasons(leaf)) or ["by a speaker or from a time that the question names"]
        return "; ".join(filter(None, (*reasons, self.note)))

    @cached_property
    def _asked(self) -> Mapping[str, str]:
        """The terms of the question, each with its word there."""
        return words_by_term(self.question.text)

    def _reasons(self, leaf: Leaf) -> Iterator[str]:
        question, own = self.question, self._matched(leaf)
        if own:
            yield f"has {_listed(own.values())}"
        near = dict[str, str]()
        for neighbour in self.neighbours(leaf, _NEIGHBOURS_BEFORE, _NEIGHBOURS_AFTER):
            if (neighbour.source, neighbour.key) not in question.asked_in:
                near = self._matched(neighbour) | near
        if lent := [near[term] for term in question.terms if term in near and term not in own]:
            yield f"beside a turn that has {_listed(lent)}"
        if not set(question.terms).isdisjoint(terms(leaf.speaker)):
            yield f"said by {leaf.speaker}"
        if question.names(leaf.at):
            yield f"from {strftime('%B %Y', gmtime(shown_at(leaf.at, question.zone)))}"

    def _matched(self, leaf: Leaf) -> dict[str, str]:
        """The terms of the question that a leaf has, each with its word in the leaf."""
        key = leaf.source, leaf.key
        if key not in self._words:
            words, matches = words_by_term(leaf.text), dict[str, str]()
            for term in self.question.terms:
                match = next((other for other in (term, *related(term)) if other in words), None)
                if match is not None:
                    asked = f" for {_quoted(self._asked.get(term, term), term)}" if match != term else ""
                    matches[term] = f"{_quoted(words[match], match)}{asked}"
            self._words[key] = matches
        return self._words[key]


def _quoted(word: str, term: str) -> str:
    """A word in quotation marks; instead of a very long one, its term."""
    return f'"{word.strip(_AROUND_A_WORD) if len(word) <= _LONGEST_WORD else term}"'


def _listed(quoted: Iterable[str]) -> str:
    words = list(dict.fromkeys(quoted))  # several terms may be parts of one identifier
    more = len(words) - _MOST_WORDS
    return ", ".join(words[:_MOST_WORDS]) + (f" and {more} more" if more > 0 else "")


# Hits with the same words

Search = Callable[[int], SearchResult]
"""Takes a limit, and returns at most so many of the best hits."""

SameWords = Sequence[Hit]
"""Hits of one speaker with the same words, best first."""

_LEAST_HITS, _MOST_HITS = 64, 4_096
"""How many hits are searched for: at first, and at most, if many have the same words."""

_MOST_WEAK = 3
"""How many hits a receipt lists if none is shown, because the question is likely not about the record."""


def find_distinct(search: Search, count: int, *, evident: bool = False) -> tuple[Sequence[SameWords], bool]:
    """The best hits with different words, at most `count`, and whether the question is about the record.

    With `evident`, at most three hits are returned if the question is likely not about the record.
    """
    limit = max(2 * count, _LEAST_HITS)  # some have the same words
    while True:
        result = search(limit)
        groups = group_same_words(result.hits)
        if evident and not result.is_evident:
            return groups[: min(count, _MOST_WEAK)], False
        if len(groups) >= count or len(result.hits) < limit or limit >= _MOST_HITS:
            return groups[:count], result.is_evident
        limit = min(2 * limit, _MOST_HITS)


def group_same_words(hits: Iterable[Hit]) -> list[SameWords]:
    """Group hits of one speaker with the same words; each group is in the place of its best hit."""
    groups: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        groups.setdefault((hit.leaf.speaker, hit.leaf.said), []).append(hit)
    return list(groups.values())
