"""The time that a question asks about, and the terms that the time of an item gives it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from quire.memory.times import names
from quire.memory.times.calendar_dates import DATES, JOINED_TO_NOW, LONGEST_LEAD, Asked, readable
from quire.memory.times.distances import number
from quire.memory.times.relative import RELATIVE
from quire.memory.times.span import DAY, Period, Span, day_of, days, week
from quire.memory.times.stretches import STRETCHES
from quire.memory.times.weekdays import DAYS_IN_WORDS, WEEKDAYS
from quire.memory.times.zone import is_in_order, shown_at
from quire.memory.words import WEEKDAYS as WEEKDAY_NAMES, date_terms, same_length, stem

_READ = 2000
_DATES = (*DAYS_IN_WORDS, *DATES)
_SUNDAY = 6
# What stands before a time and turns it into all that follows it or goes before.
_EARLIER = r"(?:before|prior to|earlier than|vor|avant|antes del?)"
_SINCE = re.compile(rf"\b(?:(?:ever )?since|starting|seit|depuis|desde){names.THE}\s*$")
_AFTER = re.compile(rf"\b(?:after|following|nach|apres|despues del?){names.THE}\s*$")
_BEFORE = re.compile(rf"\b{_EARLIER}{names.THE}\s*$")
_UNTIL = re.compile(rf"\b(?:until|till|up to|by|bis|bis zum|jusqu'en|jusqu'au|hasta){names.THE}\s*$")
# What Ana was up to on Monday is what she did then; what was said, or the total, up to Monday is until then.
_BUSY = re.compile(
    r"\b(?:i|we|you|he|she|they|is|was|were|are|been|get|gets|got|getting)$"
    r"|\bwhat(?:'s|\s+(?:is|was|were|are|has|have))\s+(?:[^\s.?!;:,]+\s+){0,5}(?P<who>[^\s.?!;:,]+)$"
)
_COUNTED_UP = re.compile(
    r"[a-z]{3,}ed|used|said|told|done|known|made|paid|spent|sold|bought|built|written|seen|sent|given|taken|shown|found|left"
    r"|total|sum|balance|score|count|status|state|progress|revenue|cost|costs"
)
_OPENS_RANGE = re.compile(rf"\b(?:between|from|zwischen|vom|von|entre|du|desde|del){names.THE}\s*$")
_AND = r"(?:and|und|et|y)"
_JOINS_RANGE = re.compile(
    rf",?\s*(?:[-\u2013]|{names.TO}|(?P<and>{_AND})|(?:(?:{_AND}|but)\s+)?(?P<before>{_EARLIER})){names.THE}\s*"
)
_WEEK_OF = re.compile(rf"\b(?:the )?week (?:(?P<of>of)|beginning|starting|commencing)(?: on)?{names.THE}\s*$")
# How far from a time: two weeks before, the day after.
_AWAY = re.compile(
    rf"\b(?:(?P<amount>{names.DIGITS}|{names.COUNTED})\s+|the\s+)"
    r"(?P<unit>day|week|month|year)s?\s+(?P<side>before|after)" + names.THE + r"\s*$"
)
_ITS_WEEKDAY = re.compile(rf"\b{names.OF_WEEK}{names.ARTICLE}\s*$")
_LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 30.5 * DAY, "year": 365.25 * DAY}
# A few patterns take the word before with them, to know what they read.
_LED = re.compile(r"(?:since|before|after|until)\s+")


class _Read(NamedTuple):
    at: slice
    period: Period


def span_of(question: str, now: float) -> Span | None:
    """The time that a question asks about, the surest where there are several, or none."""
    return surest(spans_of(question, now))


def surest(spans: Sequence[Span]) -> Span | None:
    """Of several times the one that is surest, and of equal ones the first."""
    return max(spans, key=lambda span: span.sure, default=None)


def readings(spans: Sequence[Span]) -> list[Span]:
    """The surest of several times, and what else its words may mean: 5/6/2025 is in May or in June."""
    best = surest(spans)
    return [] if best is None else list(dict.fromkeys(one for one in spans if one.words == best.words))


def spans_of(question: str, now: float, zone: tzinfo = UTC) -> list[Span]:
    """All times that a question names, in its order.

    A month or a day without a year is the last one; what is still to come (tomorrow, next week) is no time of
    anything recorded, and "recently" says too little. All times are what the clock of the zone shows.
    """
    shown = shown_at(now, zone)
    try:
        today = day_of(shown)
    except (ValueError, OverflowError):
        return []
    written = question[:_READ]
    asked = Asked(same_length(written).replace("\u2019", "'"), written, shown, today)
    read = _apart(readable(asked, (*STRETCHES, *_DATES, *WEEKDAYS, *RELATIVE)))
    return list(_ranges(read, asked)) or [_opened(one, asked) for one in _both(read)]


def _apart(found: Iterator[tuple[slice, Period]]) -> list[_Read]:
    """Those that share no letter with one found before them, in order of the question."""
    kept: list[_Read] = []
    for at, period in found:
        if all(at.stop <= other.at.start or at.start >= other.at.stop for other in kept):
            kept.append(_Read(at, period))
    return sorted(kept, key=lambda one: one.at.start)


def _both(read: Iterable[_Read]) -> Iterator[_Read]:
    """Each, and after it the others that its words may mean."""
    for one in read:
        period: Period | None = one.period
        while period is not None:
            yield one._replace(period=period)
            period = period.other


def _ranges(read: Sequence[_Read], asked: Asked) -> Iterator[Span]:
    """Two times with "to" in their midst; with "and" only where "between" or "from" is before them."""
    for first, last in pairwise(read):
        joined = _JOINS_RANGE.fullmatch(asked.plain, first.at.stop, last.at.start)
        if joined is None:
            continue
        opens = _leads(_OPENS_RANGE, first.at.start, asked)
        after = _leads(_AFTER, first.at.start, asked)
        lower = opens or after or _leads(_SINCE, first.at.start, asked)
        if (joined["and"] and not opens) or (joined["before"] and not lower):
            continue
        words = asked.written[lower.start() if lower else first.at.start : last.at.stop]
        for opening, closing in _written_alike(first, last, asked):
            start = opening.end if after else opening.start
            end = closing.start if joined["before"] else closing.end
            if not is_in_order(end, start):
                yield Span(start, end, words, closing.sure)


def _written_alike(first: _Read, last: _Read, asked: Asked) -> Iterable[tuple[Period, Period]]:
    """Both ends of a range. Where each may be of two days, they are read in the same manner."""
    one, other = first.period, last.period
    if one.other is None and other.other is None:
        return ((_leading_to(other, first, asked), other),)
    return dict.fromkeys(((one, other), (one.other or one, other.other or other)))


def _leading_to(end: Period, first: _Read, asked: Asked) -> Period:
    """The time that opens a range: without a year of its own, it is the last one before the end."""
    then = asked._replace(today=day_of(end.start))
    return next((period for at, period in readable(then, _DATES, first.at) if at == first.at), first.period)


def _opened(one: _Read, asked: Asked) -> Span:
    """A time with what was said of it: since, after, before, until, or nothing."""
    at, (start, end, sure, _) = one
    led = _LED.match(asked.plain, at.start)
    before = led.end() if led else at.start
    until_now = end if is_in_order(asked.now, end) else asked.now
    if to_now := JOINED_TO_NOW.match(asked.plain, at.stop):
        return Span(start, until_now, asked.written[at.start : to_now.end()], sure)
    if (week_of := _leads(_WEEK_OF, before, asked)) and end - start == DAY:
        return _whole_week(week_of, one, asked.written[week_of.start() : at.stop])
    if away := _leads(_AWAY, before, asked):
        return _at_a_distance(away, one, asked.written[away.start() : at.stop])
    for opener, (first, last) in {
        _SINCE: (start, until_now),
        _AFTER: (end, until_now),
        _BEFORE: (min(0.0, start), start),
        _UNTIL: (min(0.0, start), end),
    }.items():
        if (found := _leads(opener, before, asked)) and not _is_busy(found, asked):
            return Span(first, last, asked.written[found.start() : at.stop], sure * 0.9)
    weekday = _leads(_ITS_WEEKDAY, at.start, asked) if end - start == DAY else None
    return Span(start, end, asked.written[weekday.start() if weekday else at.start : at.stop], sure)


def _leads(opener: "re.Pattern[str]", to: int, asked: Asked) -> "re.Match[str] | None":
    """What opens a time and stands right before it."""
    return opener.search(asked.plain, max(to - LONGEST_LEAD, 0), to)


def _is_busy(opened: "re.Match[str]", asked: Asked) -> bool:
    """Whether "up to" says what somebody did, whoever it is, and not until when."""
    if not opened[0].startswith("up to"):
        return False
    found = _BUSY.search(asked.before(opened.start()))
    if found is None or found["who"] is None:
        return found is not None
    is_name = asked.written[: opened.start()].split()[-1][0].isupper()
    return is_name or _COUNTED_UP.fullmatch(found["who"]) is None


def _whole_week(found: "re.Match[str]", one: _Read, words: str) -> Span:
    """The week that a day is of, or that begins with it; one that is named by its Sunday begins there."""
    day = day_of(one.period.start)
    begins = found["of"] is None or day.weekday() == _SUNDAY
    start, end, sure, _ = days(day, 7, one.period.sure) if begins else week(day, one.period.sure)
    return Span(start, end, words, sure)


def _at_a_distance(away: "re.Match[str]", one: _Read, words: str) -> Span:
    """The week before a time, or the one around the day some weeks before it."""
    said, length = away["amount"], _LENGTHS[away["unit"]]
    amount = 0.5 if said is None else number(said)
    start, end, sure, _ = one.period
    centre = start - amount * length if away["side"] == "before" else end + amount * length
    if said is not None and away["unit"] == "day":
        centre += DAY / 2 if away["side"] == "before" else -DAY / 2
    return Span(centre - length / 2, centre + length / 2, words, sure * 0.9)


def date_words(at: float) -> list[str]:
    """The terms that a time adds to what was said then: year, month, day and day of the week."""
    return list(_words_of_day(at // DAY))


@lru_cache(maxsize=4096)
def _words_of_day(day: float) -> tuple[str, ...]:
    try:
        found = day_of(day * DAY)
    except (ValueError, OverflowError):
        return ()
    return (*date_terms(found.year, found.month, found.day), stem(WEEKDAY_NAMES[found.weekday()]))
