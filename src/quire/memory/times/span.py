"""A stretch of time, and the days, weeks, months and years that make one, by one clock: that of a zone."""

from datetime import date, timedelta
from typing import NamedTuple

from msgspec import Struct

DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()


class Span(Struct, frozen=True):
    """A time that was asked for: from `start` up to `end`, the words that said so, and how sure it is."""

    start: float
    end: float
    words: str
    sure: float
    """From 0 to 1."""


class Period(NamedTuple):
    """A time before it is known what was said of it: since, before, or within."""

    start: float
    end: float
    sure: float
    other: "Period | None" = None
    """Another that the same words may mean as well, which may have one of its own."""


def day_of(at: float) -> date:
    """The day of a time; beyond the calendar there is an OverflowError or a ValueError."""
    return date.fromordinal(_EPOCH + int(at // DAY))


def time_of(day: date) -> float:
    return (day.toordinal() - _EPOCH) * DAY


def days(first: date, count: int, sure: float) -> Period:
    return Period(time_of(first), time_of(first) + count * DAY, sure)


def week(day: date, sure: float) -> Period:
    """The week of a day, from Monday."""
    return days(day - timedelta(day.weekday()), 7, sure)


def months(year: int, month: int, count: int, sure: float) -> Period:
    """Some months on end; a month before January or after December is of another year."""
    return Period(time_of(_first_of(year, month)), time_of(_first_of(year, month + count)), sure)


def year(number: int, sure: float) -> Period:
    return months(number, 1, 12, sure)


def latest_year(today: date, month: int, day: int = 1) -> int:
    """The year in which a day was last; the 29th of February may be some years ago."""
    for number in range(today.year, today.year - 9, -1):
        try:
            if date(number, month, day) <= today:
                return number
        except ValueError:
            continue
    raise ValueError("a day that no year has")


def months_before(day: date, count: int) -> date:
    """The same day some months before, or the last of that month where it has no such day."""
    first, after = (_first_of(day.year, day.month - count + more) for more in (0, 1))
    return min(first + timedelta(day.day - 1), after - timedelta(1))


def _first_of(year: int, month: int) -> date:
    years, months = divmod(month - 1, 12)
    return date(year + years, months + 1, 1)
