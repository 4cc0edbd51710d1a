"""How far back a time is that is told from now: by the calendar, by the hour, up to now or about then."""

import re
from datetime import date, timedelta

from quire.memory.times import names
from quire.memory.times.calendar_dates import Asked, unnamed
from quire.memory.times.span import DAY, Period, days, months, months_before, time_of, week, year
from quire.memory.times.zone import Shown

HOUR = DAY / 24
UNITS = {"minute": 60.0, "hour": HOUR, "day": DAY, "week": 7 * DAY, "fortnight": 14 * DAY}
LONG_UNITS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_LENGTHS = {"second": 1.0, **UNITS}
_LETTERS = {"h": "hour", "d": "day", "w": "week", "m": "minute", "y": "year"}
_NAMED_UNITS = {
    **{unit: unit for unit in (*_LENGTHS, *LONG_UNITS)},
    **{"sec": "second", "min": "minute", "hr": "hour", "wk": "week", "yr": "year"},
}
COUNTED_UNITS = {**_NAMED_UNITS, **_LETTERS}
"""Units by the names that they have beside a number. A second alone is mostly the one after the first."""

UNIT = rf"(?P<unit>{'|'.join((*UNITS, *LONG_UNITS))})"
_HALF = r"(?<!\band )(?<!\band a )(?P<half>(?:a\s+)?half(?:\s+an?)?)"  # not of one and a half
_AMOUNT = rf"(?:{_HALF}|(?P<amount>{names.DIGITS}|{names.COUNTED}))"
# Against digits the unit may be a letter alone: 24h, 3d, 2 h.
_AGAINST_DIGITS = rf"(?:(?<=[0-9])|(?<=[0-9]\s))[{''.join(_LETTERS)}]"
SO_MANY = (
    rf"{_AMOUNT}(?:\s+|(?<=[0-9])|(?<=half)-)"
    rf"(?P<unit>(?:{names.either(_NAMED_UNITS)})(?=s?\b)|{_AGAINST_DIGITS}\b)s?"
)
_NAMED = names.either((*names.WEEKDAY_NUMBERS, *names.MONTH_NUMBERS, *names.SEASON_STARTS, "weekend"))
LAST_ITSELF = rf"last\b(?!\s+(?:night|{unnamed(UNIT)}|{_NAMED})\b)"  # not the week before last Monday

_NUMBERS = {**names.NUMBERS_ELSEWHERE, **names.SMALL_NUMBERS}
_PARTS_OF_DAY = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
PART = rf"(?P<part>{'|'.join(_PARTS_OF_DAY)})"


def number(said: str) -> float:
    """The number that is said in digits or in words, such as "a couple of" or "a hundred and twenty-five"."""
    if said[0].isdigit():
        return float(said)
    if said in _NUMBERS:
        return _NUMBERS[said]
    hundreds, _, rest = said.rpartition("hundred")
    words = (word for word in re.split(r"[-\s]+", rest) if word not in ("", "and"))
    return 100 * (number(hundreds.strip()) if hundreds else 0) + sum(_NUMBERS[word] for word in words)


def part_of(day: date, part: str) -> Period:
    """The morning of a day, or another part of it; a night ends on the next."""
    first, last = _PARTS_OF_DAY[part]
    return Period(time_of(day) + first * HOUR, time_of(day) + last * HOUR, 0.9)


def whole_unit(unit: str, back: int, asked: Asked, sure: float) -> Period:
    """A day, week, month, quarter or year as the calendar cuts them, some back from this one.

    Hours and fortnights it does not cut: they end now.
    """
    today = asked.today
    if unit == "day":
        return days(today - timedelta(back), 1, sure)
    if unit == "week":
        return week(today - timedelta(7 * back), sure)
    if unit == "year":
        return year(today.year - back, sure)
    if unit not in LONG_UNITS:
        return until_now(unit, max(back, 1), asked, sure)
    first = today.month if unit == "month" else 3 * ((today.month - 1) // 3) + 1
    return months(today.year, first - back * LONG_UNITS[unit], LONG_UNITS[unit], sure)


def until_now(unit: str, amount: float, asked: Asked, sure: float) -> Period:
    """So much time up to now; whole months are as long as those of the calendar."""
    count = amount * LONG_UNITS.get(unit, 0)
    if unit in _LENGTHS or count % 1:
        return Period(_back(asked.now, unit, amount), asked.now, sure)
    first = time_of(months_before(asked.today, int(count))) + asked.now % DAY
    return Period(first, asked.now, sure)


def _back(now: Shown, unit: str, amount: float) -> Shown:
    return now.back(amount * (_LENGTHS.get(unit) or LONG_UNITS[unit] * 30.5 * DAY))


def so_many_ago(unit: str, said: str, asked: Asked) -> Period:
    amount = number(said)
    if unit == "second":  # nobody counts them: it was just now
        return until_now(unit, max(3 * amount, 60), asked, 0.5)
    if said in names.VAGUE:  # minutes nobody counts
        most, least = (3 * amount, amount / 3) if unit == "minute" else (amount + 1.5, max(amount - 1.5, 0.5))
        return between(unit, most, least, asked, 0.5)
    if unit == "year" and amount == 1:  # said of about the same month, and not of all of the year before
        return days(asked.today - timedelta(395), 60, 0.75)
    if unit in ("day", "month", "year") and not amount % 1:
        return whole_unit(unit, int(amount), asked, 0.85)
    about = max(amount / 4, 0.5)  # who says ten minutes means eight or twelve as well
    return between(unit, amount + about, amount - about, asked, 0.75)


def same_day(unit: str, said: str, day: date) -> Period | None:
    """The day that was so long before another: what is not of whole days has none."""
    amount = number(said)
    if amount % 1 or said in names.VAGUE:
        return None
    if unit in LONG_UNITS:
        return days(months_before(day, int(amount) * LONG_UNITS[unit]), 1, 0.9)
    return days(day - timedelta(seconds=amount * UNITS[unit]), 1, 0.9) if UNITS.get(unit, 0) >= DAY else None


def between(unit: str, most: float, least: float, asked: Asked, sure: float) -> Period:
    return Period(_back(asked.now, unit, most), _back(asked.now, unit, least), sure)
