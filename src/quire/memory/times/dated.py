"""The numbers by which a question names a time: those of a date, and not so many of something."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quire.memory.times import names
from quire.memory.times.asking import date_words
from quire.memory.times.span import DAY, Span
from quire.memory.words import terms
from quire.memory.words.folding import same_length

_MONTH = 31 * DAY
_BY_CALENDAR = re.compile(rf"\b(?:{names.either(names.MONTH_NUMBERS)})\b|[0-9][-/.][0-9]")
_YEAR = 4


class Dated(NamedTuple):
    """Terms of a question that are numbers of a time, and those of a date one of which stands beside them."""

    numbers: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    def is_word(self, term: str) -> bool:
        """Whether a term counts wherever it is said; the number of a date does where the rest of it is."""
        return term not in self.numbers

    def counting(self, asked: Iterable[str], said: Iterable[str]) -> list[str]:
        """Those of some terms that count where others are said."""
        is_said = not self.beside.isdisjoint(said)
        return [term for term in asked if is_said or self.is_word(term)]


def dated(question: str, spans: Sequence[Span]) -> Dated:
    """What the times that a question names have of numbers, but for those that it also has elsewhere.

    A year by itself is a word like others; so many days ago is never said again in the same number.
    """
    numbers, beside, rest = set[str](), set[str](), question
    for span in spans:
        said, is_calendar = terms(span.words), _BY_CALENDAR.search(same_length(span.words)) is not None
        numbers.update(one for one in said if one.isdigit() and (is_calendar or len(one) < _YEAR))
        if is_calendar:
            beside.update(one for one in said if not one.isdigit())
            beside.update(date_words(span.start)[1:2] if span.end - span.start <= _MONTH else ())
        rest = rest.replace(span.words, " ", 1)
    return Dated(frozenset(numbers.difference(terms(rest))), frozenset(beside)) if numbers else Dated()
