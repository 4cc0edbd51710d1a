"""Why a leaf answers a question, in words: which it has, which stand for others, who said it and when."""

from collections.abc import Iterator, Sequence
from time import gmtime, strftime

from quire.memory.dates import shown_at
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question, Weights
from quire.memory.ranking.scoring import stand_ins
from quire.memory.words import terms

LENT_BEFORE, LENT_AFTER = 4, 2
"""How far words are lent to a leaf."""

_MOST_WORDS = 6
_AROUND_A_WORD = ".,;:!?\"'()[]{}<>*_`\u201c\u201d\u2018\u2019\u2026"


def reasons(question: Question, leaf: Leaf, around: Sequence[Leaf]) -> tuple[str, ...]:
    """A few words for each reason, the strongest kind first."""
    asked = _written(question.text)
    here = _written(leaf.text)
    own = list(_matched(question.dated.counting(question.terms, here), asked, here))
    matched = {term for term, _ in own}
    beside = _written("\n".join(near.text for near in around if not _asks(question, near)))
    others = [term for term in question.dated.counting(question.terms, beside) if term not in matched]
    lent = [said for _, said in _matched(others, asked, beside)]
    told = [f"has {_listed([said for _, said in own])}"] if own else []
    if lent:
        told.append(f"beside a turn that has {_listed(lent)}")
    return (*told, *_cues(question, leaf))


def _asks(question: Question, leaf: Leaf) -> bool:
    return (leaf.source, leaf.key) in question.own


def _written(text: str) -> dict[str, str]:
    """Each term of a text as it is written there first."""
    found: dict[str, str] = {}
    for word in text.split():
        for term in terms(word):
            found.setdefault(term, word.strip(_AROUND_A_WORD))
    return found


def _matched(wanted: Sequence[str], asked: dict[str, str], here: dict[str, str]) -> Iterator[tuple[str, str]]:
    for term in wanted:
        if term in here:
            yield term, f'"{here[term]}"'
            continue
        other = next((other for other, _ in stand_ins(term, Weights()) if other in here), None)
        if other is not None:
            yield term, f'"{here[other]}" for "{asked.get(term, term)}"'


def _listed(said: Sequence[str]) -> str:
    """Each once: an identifier is asked for in parts too."""
    words = list(dict.fromkeys(said))
    more = len(words) - _MOST_WORDS
    return ", ".join(words[:_MOST_WORDS]) + (f" and {more} more" if more > 0 else "")


def _cues(question: Question, leaf: Leaf) -> Iterator[str]:
    if not set(question.terms).isdisjoint(terms(leaf.speaker)):
        yield f"said by {leaf.speaker}"
    meant = question.meant()
    if meant and meant[0] <= leaf.at < meant[1]:
        yield f"from {strftime('%B %Y', gmtime(shown_at(leaf.at, question.zone)))}"
