"""The terms by which a question names a time, and not what was said: numbers, units, last and ago."""

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from quire.memory.times import names
from quire.memory.times.asking import date_words
from quire.memory.times.span import DAY, Span
from quire.memory.words import language_of, same_length, terms

_MONTH = 31 * DAY
_BY_CALENDAR = re.compile(rf"\b(?:{names.either(names.MONTH_NUMBERS)})\b|[0-9][-/.][0-9]")
_BY_NAME = re.compile(
    rf"\b(?:{names.either(names.MONTH_NUMBERS)}|{names.OF_WEEK}|{names.either(names.SEASON_STARTS)}"
    r"|weekend)(?!\w)|[0-9]"
)
_TALK = re.compile(rf"\W*(?:{names.TALK})\W*")
_YEAR = 4


def is_by_calendar(words: str) -> bool:
    """Whether the words of a time give it by the calendar, and not as so many days ago."""
    return _BY_CALENDAR.search(same_length(words)) is not None


class Dated(NamedTuple):
    """Terms of a question that are numbers of a time, and those of a date one of which stands beside them.

    What is `named`, a day or a month, is a word as well. A distance from now, such as last week, is said of
    many weeks, and its `units` alone of anything: they count where all of one of `distances` is said, beside
    something else that is asked for. With `talk` it is asked what was said, or what was: then it `is_past`.
    """

    numbers: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    distances: tuple[frozenset[str], ...] = ()
    talk: frozenset[str] = frozenset()
    is_past: bool = False

    def is_word(self, term: str) -> bool:
        """Whether a term counts wherever it is said; that of a date or a distance does where the rest is."""
        return term not in self.numbers and term not in self.units

    def is_time(self, term: str) -> bool:
        """Whether a term only stands in a time that the question names."""
        return term in self.named or not self.is_word(term)

    def counting(self, asked: Iterable[str], said: Container[str]) -> list[str]:
        """Those of some terms that count where others are said."""
        asked = list(asked)
        is_date_said = any(one in said for one in self.beside)
        counted = set(self.numbers if is_date_said else ())
        if any(map(self.is_word, asked)):
            said_so = (one for one in self.distances if all(term in said for term in one))
            counted.update(*(self.units & one for one in said_so))
        return [term for term in asked if term in counted or self.is_word(term)]


def dated(question: str, spans: Sequence[Span]) -> Dated:
    """What the times that a question names have of terms, but for those that it also has elsewhere.

    A year by itself is a word like others; so many days ago is never said again in the same number.
    """
    if not spans:
        return Dated()
    numbers, named, beside = frozenset[str](), frozenset[str](), set[str]()
    distances, rest = list[frozenset[str]](), question
    for span in spans:
        by_name = [one for one in span.words.split() if _BY_NAME.search(same_length(one))]
        said = frozenset(terms(" ".join(by_name), like=question))
        is_calendar = is_by_calendar(span.words)
        numbers |= {one for one in said if one.isdigit() and (is_calendar or len(one) < _YEAR)}
        named |= said
        distances.append(frozenset(terms(span.words, like=question)) - said)
        if is_calendar:
            months = terms(" ".join(filter(is_by_calendar, by_name)), like=question)
            beside.update(one for one in months if not one.isdigit())
            beside.update(date_words(span.start)[1:2] if span.end - span.start <= _MONTH else ())
        rest = rest.replace(span.words, " ", 1)
    elsewhere = frozenset(terms(rest, like=question))
    past = names.PAST.get(language_of(question), ())
    talk = [one for one in rest.split() if _is_talk(same_length(one), past)]
    return Dated(
        numbers - elsewhere,
        frozenset(beside),
        named - numbers - elsewhere,
        frozenset[str]().union(*distances) - named - elsewhere,
        tuple(one for one in dict.fromkeys(distances) if one),
        frozenset(terms(" ".join(talk), like=question)),
        bool(talk),
    )


def _is_talk(word: str, past: Container[str]) -> bool:
    return _TALK.fullmatch(word) is not None or word.strip(".,;:?!") in past
