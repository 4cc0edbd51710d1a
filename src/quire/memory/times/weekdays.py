"""Days by their name in the week or their number in the month: on Friday, two Fridays ago, on the 4th."""

import re
from datetime import date, timedelta

from quire.memory.times import names
from quire.memory.times.calendar_dates import (
    A_DAY,
    ENDS,
    ITS_YEAR,
    MONTH,
    OF,
    Asked,
    Reader,
    day_named,
    is_dated,
)
from quire.memory.times.distances import LAST_ITSELF, PART, number, part_of
from quire.memory.times.span import Period, days, months_before
from quire.memory.words import WEEKDAYS as IN_ENGLISH

_WEEKDAY = rf"(?P<weekday>{names.either(names.WEEKDAY_NUMBERS)})"
_NO_DATE = rf"(?!,?{names.THE}\s+{A_DAY})"  # of a date it is only the name of the day
_NTH = rf"(?P<day>{names.either(names.NTH_DAYS)})"
_OF_A_YEAR = rf"(?:,?\s+(?:{OF})?{ITS_YEAR})?"
_WEEKS_BACK = {"this week": 0, "last week": 1, "previous week": 1, "week before last": 2}
_WHICH_WEEK = r"(?P<week>this\s+week|(?:last|previous)\s+week|week\s+before\s+last)\b"
_NAMESAKES = names.DOUBTFUL_MONTHS | names.NAMED_AFTER_MONTHS
_CLAUSE = re.compile(r"[^.?!;:]*$")
# Whoever asks so asks what was; "Who called" does too.
_WAS = r"(?:did|was|were|had|been|happened|said|told|spoke|talked|discussed|mentioned|(?<=who\s)[a-z]+ed)\b"
_ASKS = r"\b(?:what|who|whom|where|how|why|which)\b"
_ASKS_WHAT_WAS = re.compile(rf"{_ASKS}.*\b{_WAS}")
_ASKS_WHETHER = re.compile(r"^\W*(?:and\s+|so\s+)?(?:did|was|were|had|has|have)\b")
# What was said of a day that was still to come, or of something else that is on that day.
_PLANS = re.compile(
    r"\b(?:is|are|will|would|should|can|could|must|coming|going|due|plan|planned|scheduled|booked|(?:it|he|she)'s)\b"
    r"|(?:'ll|'re|'m)\b|\babout\s+\S"
    r"|\b(?:decided?|agreed?|promised?|want(?:ed)?|need(?:ed)?|had|have|supposed|meant?|hoped?|arranged?|chose)\b"
    r".*(?<!\bup )\bto\b"
)
_TALKED_ABOUT = re.compile(
    r"\b(?:talk(?:ed|ing)?|speak(?:ing)?|spoke|chat(?:ted|ting)?)(?:\s+(?:to|with)\s+\S+)?\s+about$"
)
_UP_TO = re.compile(r"\bup\s+to$")
# My Friday, Black Friday and for Friday are not when something was.
_NOT_THEN = re.compile(
    r"(?:\b(?:an?|the|my|our|your|his|her|its|their|this|that|every|each|any|some|no|next|by|for|of|to|from|with|about"
    r"|and|or|like|than|is|are|until|till|between|around|black|good|easter|ash|palm|cyber|fat|casual)|'s?)$"
)


def _last(weekday: str, asked: Asked) -> date:
    return asked.today - timedelta((asked.today.weekday() - names.WEEKDAY_NUMBERS[weekday] - 1) % 7 + 1)


def _of_day(day: date, part: str | None, sure: float) -> Period:
    return part_of(day, part) if part else days(day, 1, sure)


def _weekday(found: "re.Match[str]", asked: Asked) -> Period:
    return _of_day(_last(found["weekday"], asked), found["part"], 0.7)


def _weekday_alone(found: "re.Match[str]", asked: Asked) -> Period | None:
    """With no "on" before it, it is read where it ends a question of what was."""
    ends = ENDS.match(asked.plain, found.end()) is not None
    return _weekday(found, asked) if ends and _is_when_it_was(found.start(), asked) else None


def _is_when_it_was(at: int, asked: Asked) -> bool:
    clause = _clause(at, asked)
    if _ASKS_WHAT_WAS.search(clause) is None or _PLANS.search(clause):
        return False
    if _TALKED_ABOUT.search(clause) or _UP_TO.search(clause):
        return True
    word = asked.written[:at].split()[-1]
    return not (_NOT_THEN.search(clause) or (word[0].isupper() and word != "I"))


def _clause(at: int, asked: Asked) -> str:
    """What leads to a place in the sentence that it stands in."""
    found = _CLAUSE.search(asked.before(at))
    return found[0] if found else ""


def _weekday_of_week(found: "re.Match[str]", asked: Asked) -> Period | None:
    back = _WEEKS_BACK[" ".join(found["week"].split())]
    monday = asked.today - timedelta(asked.today.weekday() + 7 * back)
    day = monday + timedelta(names.WEEKDAY_NUMBERS[found["weekday"]])
    return None if day > asked.today else _of_day(day, found["part"], 0.85)


def _weekday_before_last(found: "re.Match[str]", asked: Asked) -> Period:
    return _of_day(_last(found["weekday"], asked) - timedelta(7), found["part"], 0.8)


def _weekdays_ago(found: "re.Match[str]", asked: Asked) -> Period | None:
    """Two Fridays ago is the one before the last."""
    count = number(found["amount"])
    if count % 1 or count < 1 or found["amount"] in names.VAGUE:
        return None
    return days(_last(found["weekday"], asked) - timedelta(7 * (count - 1)), 1, 0.8)


def _day_of_month(found: "re.Match[str]", asked: Asked) -> Period | None:
    """The last day of that number, where it is asked what was: the 2nd may be of anything."""
    clause = _clause(found.start(), asked)
    is_past = _ASKS_WHAT_WAS.search(clause) or _ASKS_WHETHER.search(clause)
    if not is_past or ENDS.match(asked.plain, found.end()) is None:
        return None
    for back in range(3):
        first = months_before(asked.today.replace(day=1), back)
        day = first + timedelta(int(found["day"]) - 1)
        if day <= asked.today and day.month == first.month:
            return days(day, 1, 0.7)
    return None


def _nth_of_month(found: "re.Match[str]", asked: Asked) -> Period | None:
    is_doubtful = found["month"] in _NAMESAKES and not found["year"]
    return None if is_doubtful and not is_dated(found, asked) else day_named(found, asked)


def _month_and_nth(found: "re.Match[str]", asked: Asked) -> Period | None:
    """November second may be one who came second."""
    return day_named(found, asked) if found["year"] or is_dated(found, asked) else None


_ON_THE = r"\b(?:on\s+)?(?:the\s+)?"
_ITS_PART = rf"(?:\s+{PART}\b)?"
DAYS_IN_WORDS: tuple[tuple[str, Reader], ...] = (
    (rf"\b{_NTH}\s+of\s+{MONTH}{_OF_A_YEAR}", _nth_of_month),
    (rf"\b{MONTH}\s+(?:the\s+)?{_NTH}\b{_OF_A_YEAR}", _month_and_nth),
)
"""Read before months that stand alone."""

WEEKDAYS: tuple[tuple[str, Reader], ...] = (
    (rf"{_ON_THE}{_WEEKDAY}\b{_ITS_PART},?\s+(?:of\s+)?(?:the\s+)?{_WHICH_WEEK}", _weekday_of_week),
    (rf"\b{_WHICH_WEEK},?\s+on\s+{_WEEKDAY}\b{_ITS_PART}", _weekday_of_week),
    (rf"{_ON_THE}{_WEEKDAY}\b{_ITS_PART}\s+before\s+{LAST_ITSELF}", _weekday_before_last),
    (rf"\b(?P<amount>{names.DIGITS}|{names.COUNTED})\s+{_WEEKDAY}s?\s+ago\b", _weekdays_ago),
    (
        r"\b(?:(?P<which>last|past|previous|this)|on|since|before|after|until|am|le|el)\s+"
        rf"{_WEEKDAY}\b{_NO_DATE}{_ITS_PART}",
        _weekday,
    ),
    (rf"\b(?P<weekday>{names.either(IN_ENGLISH)})\b{_NO_DATE}{_ITS_PART}", _weekday_alone),
    (r"\b(?:on|since|before|after|until)\s+the\s+(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)\b", _day_of_month),
)
