"""Dates that the calendar gives: days, months, quarters, seasons and years by name and number."""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from quire.memory.times import names
from quire.memory.times.span import DAY, Period, day_of, days, latest_year, months, year
from quire.memory.times.zone import Shown, is_in_order


def unnamed(pattern: str) -> str:
    """A pattern whose groups have no names, so that it may stand beside another of the same."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


LONGEST_LEAD = 120
"""Letters in which it is written what opens a time: between the 3rd of March and."""


class Asked(NamedTuple):
    """A question as it is read (lower case, no accents) and as it was written, and when it is asked."""

    plain: str
    written: str
    now: Shown
    today: date

    def before(self, at: int) -> str:
        """What leads to a place, as far as it may say something of a time that begins there."""
        return self.plain[:at].rstrip()[-LONGEST_LEAD:]


Reader = Callable[["re.Match[str]", Asked], Period | None]

MONTH = rf"(?P<month>{names.either(names.MONTH_NUMBERS)})\b\.?"
YEAR = r"(?P<year>(?:1[89]|20)[0-9]{2})(?![0-9]|[.,:][0-9]|-[0-9])"
# Of a day or a month the year may be told from now, or by its last two digits.
_AWAY = names.either(names.YEARS_AWAY)
ITS_YEAR = rf"(?P<year>(?:1[89]|20)[0-9]{{2}}(?![0-9]|[.,:][0-9]|-[0-9])|'[0-9]{{2}}(?!\w)|(?:{_AWAY})\b)"
OF = r"(?:of\s+(?:the\s+)?|del?\s+|des\s+)"
# Or it is told first: last year in March.
_YEAR_FIRST = rf"(?P<year>{_AWAY}),?\s+(?:in|on|im|am|en|le|el)\s+(?:the\s+)?"
_NO_YEAR = r"(?!,?\s+(?:(?:of|de|del)\s+)?(?:1[89]|20)[0-9]{2})"
DAY_OF_MONTH = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th|er|\.)?"
_THIRDS = {"early": 0, "beginning of": 0, "start of": 0, "mid": 1, "middle of": 1, "late": 2, "end of": 2}
_NTHS = {"first": 0, "second": 1, "third": 2}
_WEEKS = {f"{nth} week {of}": back for nth, back in _NTHS.items() for of in ("of", "in")}
_LAST_WEEK = ("last week of", "last week in")
PARTS = (*_THIRDS, *_WEEKS, *_LAST_WEEK)
_PART = rf"(?:(?P<part>{'|'.join(PARTS)})[\s-]+)?"
_COUNTED = (
    r"(?!\s*(?:%|people|words|steps|dollars|euros|miles|km|lines|tokens|items|times|percent|pages|users))"
)
# What may stand before a month or a year that stands alone.
_WITHIN = re.compile(
    r"\b(?:in|since|before|after|until|till|by|during|through|throughout|of|from|for|around|last|this|im|seit|vor|nach|"
    r"bis|en|depuis|avant|desde|hasta|antes de|early|late|mid|the year)$"
)
_WITHIN_A_NAMESAKE = re.compile(
    r"\b(?:in|since|before|after|until|till|during|through|throughout|last|this|im|seit|en|depuis|desde|early|late|mid)$"
)
_OPENED = (
    rf"(?:from|between|zwischen|entre)\b[^?!;]{{0,20}}{MONTH}[^?!;]{{0,20}}\s(?:and|to|through|und|et|y)"
)
_ON = re.compile(
    r"\b(?:on|since|before|after|until|till|by|from|between|around|am|le|el|seit|bis|depuis|desde|zwischen|entre"
    rf"|week of|{names.OF_WEEK}|{_OPENED}){names.THE}$"
)
# Two days that are joined are days, whatever else their months are words for.
A_DAY = unnamed(rf"(?:{DAY_OF_MONTH}\s+(?:{OF})?{MONTH}|{MONTH}\s+(?:the\s+)?{DAY_OF_MONTH}\b)")
_JOINED = rf"(?:\s*[-\u2013]{names.THE}\s*|,?\s+{names.TO}{names.THE}\s+)"
_JOINED_TO_DAY = re.compile(_JOINED + A_DAY)
_LONGEST_DAY = 80
"""Letters in which a day and what joins it to the next are written."""
JOINED_TO_NOW = re.compile(rf"{_JOINED}(?:{names.NOW})\b|\s+onwards?\b")
_DAY_JOINED = re.compile(rf"\b{A_DAY}(?:,?\s+(?:{OF})?{unnamed(ITS_YEAR)})?{_JOINED}$")
_VERSION = re.compile(r"\b(?:version|versions|release|build|ver|v)\.?$")
ENDS = re.compile(r"\s*(?:$|[?!.,;)])")


def _is_version(found: "re.Match[str]", asked: Asked) -> bool:
    return found["mark"] == "." and _VERSION.search(asked.before(found.start())) is not None


def _numeric(found: "re.Match[str]", asked: Asked) -> Period | None:
    if _is_version(found, asked):
        return None
    return days(date(int(found["year"]), int(found["number"]), int(found["day"])), 1, 1.0)


def its_year(said: str, asked: Asked) -> int:
    """The year that a day or a month is said to be of; of two digits the last one that ends so."""
    if said.isdigit():
        return int(said)
    this = day_of(asked.now).year
    if said in names.YEARS_AWAY:
        return this + names.YEARS_AWAY[said]
    return this + 1 - (this + 1 - int(said[1:])) % 100


def _numeric_month(found: "re.Match[str]", asked: Asked) -> Period:
    return months(int(found["year"]), int(found["number"]), 1, 0.9)


def _day_and_month(found: "re.Match[str]", asked: Asked) -> Period | None:
    """What is above 12 can only be a day; which is which below 13 depends on who writes, so it is both."""
    if _is_version(found, asked):
        return None
    day, month, number = int(found["day"]), int(found["number"]), int(found["year"])
    if month > 12:
        day, month = month, day
    elif found["mark"] != "." and day <= 12 and day != month:
        return days(date(number, month, day), 1, 0.8)._replace(other=days(date(number, day, month), 1, 0.8))
    return days(date(number, month, day), 1, 0.9)


def _dated(found: "re.Match[str]", asked: Asked) -> Period | None:
    is_doubtful = found["month"] in names.DOUBTFUL_MONTHS and not found["year"]
    return None if is_doubtful and not is_dated(found, asked) else day_named(found, asked)


def day_named(found: "re.Match[str]", asked: Asked) -> Period:
    """The day of a month and, where it is said, of a year."""
    month, day = names.MONTH_NUMBERS[found["month"]], names.NTH_DAYS.get(found["day"]) or int(found["day"])
    if found["year"]:
        return days(date(its_year(found["year"], asked), month, day), 1, 0.95)
    return days(date(latest_year(asked.today, month, day), month, day), 1, 0.8)


def is_dated(found: "re.Match[str]", asked: Asked) -> bool:
    """Whether a number beside a word that may be a month is that of a day."""
    begins = found.start()
    if _ON.search(asked.before(begins)) or _JOINED_TO_DAY.match(asked.plain, found.end()):
        return True
    if _DAY_JOINED.search(asked.plain, max(begins - _LONGEST_DAY, 0), begins):
        return True
    return asked.written[found.start("month")].isupper() and ENDS.match(asked.plain, found.end()) is not None


def _month_of_year(found: "re.Match[str]", asked: Asked) -> Period:
    return _part(its_year(found["year"], asked), names.MONTH_NUMBERS[found["month"]], found["part"], 0.9)


def _month_alone(found: "re.Match[str]", asked: Asked) -> Period | None:
    name, month = found["month"], names.MONTH_NUMBERS[found["month"]]
    is_namesake = name in names.NAMED_AFTER_MONTHS or name in names.DOUBTFUL_MONTHS
    is_joined = JOINED_TO_NOW.match(asked.plain, found.end()) is not None
    cue = _WITHIN_A_NAMESAKE if is_namesake and not is_joined else _WITHIN
    if not (found["part"] or cue.search(asked.before(found.start()))):
        return None
    number = latest_year(asked.today, month)
    is_over = asked.before(found.start()).endswith("last")
    return _part(number - (is_over and month == asked.today.month), month, found["part"], 0.6)


def _part(number: int, month: int, part: str | None, sure: float) -> Period:
    whole = months(number, month, 1, sure)
    if part is None:
        return whole
    if part in _LAST_WEEK:
        return whole._replace(start=whole.end - 7 * DAY)
    if part in _WEEKS:
        return days(date(number, month, 1) + timedelta(7 * _WEEKS[part]), 7, sure)
    first = date(number, month, 1) + timedelta(10 * _THIRDS[part])
    third = days(first, 10, sure)
    return third if part not in ("late", "end of") else third._replace(end=whole.end)


def _season_of_year(found: "re.Match[str]", asked: Asked) -> Period:
    return months(its_year(found["year"], asked), names.SEASON_STARTS[found["season"]], 3, 0.8)


def _quarter(found: "re.Match[str]", asked: Asked) -> Period:
    return months(its_year(found["year"], asked), 3 * int(found["quarter"]) - 2, 3, 0.9)


def _year_alone(found: "re.Match[str]", asked: Asked) -> Period | None:
    return year(int(found["year"]), 0.7) if _WITHIN.search(asked.before(found.start())) else None


DATES: tuple[tuple[str, Reader], ...] = (
    (
        r"\b(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<number>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9])",
        _numeric,
    ),
    (
        r"(?<![0-9/.-])(?P<day>[0-9]{1,2})(?P<mark>[/.-])(?P<number>[0-9]{1,2})(?P=mark)"
        r"(?P<year>(?:1[0-9]|20)[0-9]{2})(?![0-9]|[/.-][0-9])",
        _day_and_month,
    ),
    (r"\b(?P<year>(?:19|20)[0-9]{2})-(?P<number>[01][0-9])(?![0-9-])", _numeric_month),
    (rf"\b{_YEAR_FIRST}{DAY_OF_MONTH}\s+(?:{OF})?{MONTH}{_NO_YEAR}", _dated),
    (rf"\b{_YEAR_FIRST}{MONTH}\s+(?:the\s+)?{DAY_OF_MONTH}\b(?![:%]|[.,]?[0-9]){_NO_YEAR}", _dated),
    (rf"\b{_YEAR_FIRST}{_PART}{MONTH}(?!\w){_NO_YEAR}", _month_of_year),
    (rf"\b{DAY_OF_MONTH}\s+(?:{OF})?{MONTH}(?:,?\s+(?:{OF})?{ITS_YEAR})?", _dated),
    (rf"\b{MONTH}\s+(?:the\s+)?{DAY_OF_MONTH}\b(?![:%]|[.,]?[0-9])(?:,?\s+(?:{OF})?{ITS_YEAR})?", _dated),
    (rf"\b{_PART}{MONTH},?\s+(?:{OF})?{ITS_YEAR}", _month_of_year),
    (rf"\b(?P<season>{names.either(names.SEASON_STARTS)})\s+(?:{OF})?{ITS_YEAR}", _season_of_year),
    (rf"\bq(?P<quarter>[1-4])\s+(?:{OF})?{ITS_YEAR}", _quarter),
    (rf"\b{_PART}{MONTH}(?!\w)", _month_alone),
    (rf"\b{YEAR}{_COUNTED}(?!\w)", _year_alone),
)


def readable(
    asked: Asked, patterns: tuple[tuple[str, Reader], ...], within: slice = slice(0, None)
) -> Iterator[tuple[slice, Period]]:
    """Every time that patterns read in a question, or a part of it, that is possible and not turned round."""
    start, stop, _ = within.indices(len(asked.plain))
    for pattern, reader in patterns:
        for found in re.compile(pattern).finditer(asked.plain, start, stop):
            try:
                period = reader(found, asked)
            except (ValueError, OverflowError):
                continue
            if period is not None and is_in_order(period.start, period.end):
                yield slice(*found.span()), period
