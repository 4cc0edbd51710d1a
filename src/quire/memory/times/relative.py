"""Times told from now: yesterday, last week, two months ago, over the weekend."""

import re
from datetime import date, timedelta

from quire.memory.times import names
from quire.memory.times.calendar_dates import A_DAY, Asked, Reader
from quire.memory.times.span import DAY, Period, days, months, time_of, week, year
from quire.memory.words.languages import language_of

_HOUR = DAY / 24
_PARTS_OF_DAY = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
_DAYS_BACK = {
    **dict.fromkeys(("today", "heute", "aujourd'hui", "hoy"), 0),
    **dict.fromkeys(("yesterday", "gestern", "hier", "ayer"), 1),
    **dict.fromkeys(("the day before yesterday", "day before yesterday", "vorgestern"), 2),
    **dict.fromkeys(("avant-hier", "anteayer", "antes de ayer"), 2),
}
# Said of one back in other languages; "this" ones are rarer and left.
_ONE_BACK = {
    **dict.fromkeys(("letzte woche", "vorige woche", "la semaine derniere", "la semana pasada"), "week"),
    **dict.fromkeys(("letzten monat", "le mois dernier", "el mes pasado"), "month"),
    **dict.fromkeys(("letztes jahr", "l'annee derniere", "l'an dernier", "el ano pasado"), "year"),
}
_UNITS = {"minute": 60.0, "hour": _HOUR, "day": DAY, "week": 7 * DAY, "fortnight": 14 * DAY}
_LONG_UNITS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_UNIT = rf"(?P<unit>{'|'.join((*_UNITS, *_LONG_UNITS))})"
_AMOUNT = rf"(?P<amount>[0-9]{{1,4}}|{names.either(names.SMALL_NUMBERS)})"
_SEASON = rf"(?P<season>{names.either(names.SEASON_STARTS)})"
_WEEKDAY = rf"(?P<weekday>{names.either(names.WEEKDAY_NUMBERS)})"
_NO_DATE = rf"(?!,?{names.THE}\s+{A_DAY})"  # of a date it is only the name of the day
_PART = r"(?P<part>morning|afternoon|evening|night)"


def _day_back(found: "re.Match[str]", asked: Asked) -> Period | None:
    word = found["word"]
    if word == "hier" and language_of(asked.written) != "french":  # in German it is a place
        return None
    day = asked.today - timedelta(_DAYS_BACK[word])
    return _part_of(day, found["part"]) if found["part"] else days(day, 1, 0.9)


def _part_of(day: date, part: str) -> Period:
    first, last = _PARTS_OF_DAY[part]
    return Period(time_of(day) + first * _HOUR, time_of(day) + last * _HOUR, 0.9)


def _this_part(found: "re.Match[str]", asked: Asked) -> Period:
    return _part_of(asked.today, "evening" if found[0] == "tonight" else found["part"])


def _last_night(found: "re.Match[str]", asked: Asked) -> Period:
    return _part_of(asked.today - timedelta(1), "night")


def _unit_back(found: "re.Match[str]", asked: Asked) -> Period:
    return _whole_unit(found["unit"], 0 if found["which"] == "this" else 1, asked, 0.8)


def _said_elsewhere(found: "re.Match[str]", asked: Asked) -> Period:
    return _whole_unit(_ONE_BACK[found[0]], 1, asked, 0.8)


def _whole_unit(unit: str, back: int, asked: Asked, sure: float) -> Period:
    """A day, week, month, quarter or year as the calendar cuts them, some back from this one."""
    today = asked.today
    if unit == "day":
        return days(today - timedelta(back), 1, sure)
    if unit == "week":
        return week(today - timedelta(7 * back), sure)
    if unit == "year":
        return year(today.year - back, sure)
    first = today.month if unit == "month" else 3 * ((today.month - 1) // 3) + 1
    return months(today.year, first - back * _LONG_UNITS[unit], _LONG_UNITS[unit], sure)


def _amount(found: "re.Match[str]") -> int:
    said = found["amount"]
    return int(said) if said.isdigit() else names.SMALL_NUMBERS[said]


def _last_some(found: "re.Match[str]", asked: Asked) -> Period:
    return Period(_back(asked.now, found["unit"], _amount(found)), asked.now, 0.85)


def _back(now: float, unit: str, amount: float) -> float:
    return now - amount * (_UNITS.get(unit) or _LONG_UNITS[unit] * 30.5 * DAY)


def _ago(found: "re.Match[str]", asked: Asked) -> Period:
    unit, amount = found["unit"], _amount(found)
    if found["half"]:
        return Period(_back(asked.now, unit, 0.75), _back(asked.now, unit, 0.25), 0.75)
    if found["amount"] in names.VAGUE:
        later = _back(asked.now, unit, max(amount - 1.5, 0.5))
        return Period(_back(asked.now, unit, amount + 1.5), later, 0.5)
    if unit == "year" and amount == 1:  # said of about the same month, and not of all of the year before
        return days(asked.today - timedelta(395), 60, 0.75)
    if unit in ("day", "month", "year"):
        return _whole_unit(unit, amount, asked, 0.85)
    centre = _back(asked.now, unit, amount)
    half = (asked.now - _back(asked.now, unit, 1)) / 2
    return Period(centre - half, centre + half, 0.75)


def _weekend(found: "re.Match[str]", asked: Asked) -> Period:
    """Saturday and Sunday: those that began last, or while they last, those before where "last" was said."""
    saturday = asked.today - timedelta((asked.today.weekday() - 5) % 7)
    if found["which"] in ("last", "previous") and asked.today.weekday() >= 5:
        saturday -= timedelta(7)
    return days(saturday, 2, 0.8)


def _weekday(found: "re.Match[str]", asked: Asked) -> Period:
    back = (asked.today.weekday() - names.WEEKDAY_NUMBERS[found["weekday"]] - 1) % 7 + 1
    day = asked.today - timedelta(back)
    return _part_of(day, found["part"]) if found["part"] else days(day, 1, 0.7)


def _season(found: "re.Match[str]", asked: Asked) -> Period:
    """The one that began last, in the north; "last" means one that is over."""
    start, today = names.SEASON_STARTS[found["season"]], asked.today
    began = months(today.year if today.month >= start else today.year - 1, start, 3, 0.6)
    if found["which"] in ("last", "previous") and began.end > asked.now:
        return months(today.year - 1 if today.month >= start else today.year - 2, start, 3, 0.6)
    return began


_LAST = r"(?P<which>last|past|previous)"
_WHICH = r"(?P<which>last|past|previous|this)"
_OVER = r"(?:in|over|during|within)\s+(?:the\s+)?"
RELATIVE: tuple[tuple[str, Reader], ...] = (
    (rf"\b(?P<word>{names.either(_DAYS_BACK)})\b(?:\s+{_PART}\b)?", _day_back),
    (rf"\bthis\s+{_PART}\b|\btonight\b", _this_part),
    (r"\blast\s+night\b", _last_night),
    (rf"\b(?P<half>half\s+)?{_AMOUNT}\s+{_UNIT}s?\s+(?:ago|earlier|back)\b", _ago),
    (rf"\b(?:last|past|previous)\s+{_AMOUNT}\s+{_UNIT}s?\b", _last_some),
    (rf"\b{_WHICH}\s+{_UNIT}\b(?!\s+of\b)", _unit_back),
    (rf"\b(?:{'|'.join(_ONE_BACK)})\b", _said_elsewhere),
    (rf"\b(?:{_WHICH}|(?:over|at|on|during)\s+the)\s+weekend\b", _weekend),
    (
        rf"\b(?:{_WHICH}|on|since|before|after|until|am|le|el)\s+{_WEEKDAY}\b{_NO_DATE}(?:\s+{_PART}\b)?",
        _weekday,
    ),
    (rf"\b(?:{_WHICH}|{_OVER})\s*{_SEASON}\b", _season),
)
