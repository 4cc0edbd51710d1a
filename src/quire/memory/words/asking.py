"""What a text shows beside its terms: whether it asks, whom and what it names, which numbers it has."""

import re
from collections.abc import Iterator

from quire.memory.words.common_words import COMMON_STEMS
from quire.memory.words.english import stem
from quire.memory.words.folding import composed, folded
from quire.memory.words.indexing import terms
from quire.memory.words.languages import language_of, stop_words

_ASKING_WORDS = """
who whom whose what when where why how which did does do is are was were can could would should will have
has had wer wo wann warum wie welche welcher welches wohin woher qui quand comment pourquoi combien quel
quelle quien donde cuando cual cuanto cuantos chi dove perche quanto quem onde quando hoe waar wanneer
waarom wie vem varfor nar hur
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_SAID = re.compile(r"[.!?\uff1f\u061f\u3002]")
_ASKED_AT_END = re.compile(r"[?\uff1f\u061f][\s\"')\]]*$|(?:吗|呢|か)[\u3002.!\s]*$")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['-][^\W_]+)*")
_PART = re.compile(r"\w+")
# What begins a sentence: the start, a mark that ends the one before, an opening quotation mark.
_BEGINNING = re.compile(r"(?:^|[.!?;:\n\u2026\u3002])[\s\"(*_\u00bf\u00a1-]*$")
_REACH = 6
_INFLECTED = ("ing", "ed", "ly")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def is_question(text: str) -> bool:
    """Whether a text asks: by the mark at its end, or by its first word where it has no mark at all."""
    plain = composed(text).strip()
    if _ASKED_AT_END.search(plain):
        return True
    first = _WORD.search(plain)
    asks = first is not None and not first.start() and folded(first[0]) in _ASKING
    return asks and not _SAID.search(plain)


def names(text: str) -> set[str]:
    """The terms of what is named: words with a capital inside a sentence, or at its start when uncommon."""
    named = {term for word in _named(composed(text)) for term in terms(word)}
    return named.intersection(terms(text)) if named else named


def _named(text: str) -> Iterator[str]:
    common, spoken = stop_words(language_of(text)), set(_PART.findall(text))
    for found in _WORD.finditer(text):
        word = found[0].partition("'")[0]
        if len(word) == 1 or not word[0].isupper() or folded(word) in common:
            continue
        if not _begins(text, found.start()) or _is_uncommon(word, spoken):
            yield found[0]


def _begins(text: str, at: int) -> bool:
    return _BEGINNING.search(text[max(0, at - _REACH) : at]) is not None if at else True


def _is_uncommon(word: str, spoken: set[str]) -> bool:
    """Whether a word that may owe its capital to its place looks like a name all the same."""
    lowered = word.lower()
    if stem(folded(word)) in COMMON_STEMS or lowered.endswith(_INFLECTED):
        return False
    return not spoken.issuperset(_PART.findall(lowered))


def numbers(text: str) -> set[str]:
    """The numbers in a text, as terms: 1200 for $1,200 and 2 for two."""
    return {term for term in terms(text) if _NUMBER.fullmatch(term)}
