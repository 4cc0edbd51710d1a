"""Times told from now: yesterday, last week, two months ago, over the weekend."""

import re
from datetime import timedelta

from quire.memory.times import names
from quire.memory.times.calendar_dates import ENDS, Asked, Reader
from quire.memory.times.distances import (
    COUNTED_UNITS,
    LAST_ITSELF,
    PART,
    SO_MANY,
    UNIT,
    between,
    number,
    part_of,
    same_day,
    so_many_ago,
    until_now,
    whole_unit,
)
from quire.memory.times.span import Period, days, months
from quire.memory.words import language_of

_DAYS_BACK = {
    **dict.fromkeys(("today", "heute", "aujourd'hui", "hoy"), 0),
    **dict.fromkeys(("yesterday", "gestern", "hier", "ayer"), 1),
    **dict.fromkeys(("the day before yesterday", "day before yesterday", "vorgestern"), 2),
    **dict.fromkeys(("avant-hier", "anteayer", "antes de ayer"), 2),
}
_UNIT_ELSEWHERE = rf"(?P<unit>{names.either(names.UNITS_ELSEWHERE)})"
_AMOUNT_ELSEWHERE = rf"(?P<amount>[0-9]{{1,4}}|{names.either(names.NUMBERS_ELSEWHERE)})"
_SEASON = rf"(?P<season>{names.either(names.SEASON_STARTS)})"
# The last day to apply, or my last year at school, is none that is told from now, nor is the last minute.
_OVER_THE = re.compile(r"\b(?:in|over|during|within|throughout|from)\s+the$")
_THIS = re.compile(r"\bthis$")
_OWNED = re.compile(r"\b(?:the|a|my|our|your|his|her|its|their)$")
_FOR_SOMETHING = re.compile(r"\s+(?:to|for|at|as|before)\b")
_OPENS_SENTENCE = re.compile(r"(?:^|[.?!:;])$")
# After a unit that is cut short: sec filings and hr policies are none.
_NO_NOUN_AFTER = re.compile(
    rf"{ENDS.pattern}|\s+(?:and|or|but|so|i|we|you|he|she|they|it|there|do|did|has|have|had|was|were|is|are|in|at"
    r"|on|to|for|with|about|from|by|that|when|while|before|what|who)\b"
)
_NAME_AFTER = re.compile(r"\s+(?!I\b)[A-Z0-9]")


def _day_back(found: "re.Match[str]", asked: Asked) -> Period | None:
    word = found["word"]
    if word == "hier" and language_of(asked.written) != "french":  # in German it is a place
        return None
    day = asked.today - timedelta(_DAYS_BACK[word])
    return part_of(day, found["part"]) if found["part"] else days(day, 1, 0.9)


def _this_part(found: "re.Match[str]", asked: Asked) -> Period:
    return part_of(asked.today, "evening" if found[0] == "tonight" else found["part"])


def _last_night(found: "re.Match[str]", asked: Asked) -> Period:
    return part_of(asked.today - timedelta(1), "night")


def _unit_back(found: "re.Match[str]", asked: Asked) -> Period | None:
    unit, back = found["unit"], 0 if found["which"] == "this" else 1
    if _is_of_something(found, asked):
        return None
    if back and (unit == "day" or _lasts_until_now(found["which"], asked.before(found.start()))):
        return until_now(unit, 1, asked, 0.8)
    return whole_unit(unit, back, asked, 0.8)


def _lasts_until_now(which: str, before: str) -> bool:
    """Whether all up to now is meant: the past week, in the last year, and not last week."""
    is_led = _OVER_THE.search(before) is not None or _THIS.search(before) is not None
    return which == "past" or (which == "last" and is_led)


def _is_of_something(found: "re.Match[str]", asked: Asked) -> bool:
    """Whether it is the last of something else: who means the day before says yesterday."""
    before = asked.before(found.start())
    if _OVER_THE.search(before) or (found["unit"] == "day" and found["which"] in ("past", "this")):
        return False
    if found["unit"] in ("minute", "day"):
        return True
    is_owned = found["which"] != "this" and _OWNED.search(before) is not None
    return is_owned and _FOR_SOMETHING.match(asked.plain, found.end()) is not None


def _unit_before_last(found: "re.Match[str]", asked: Asked) -> Period:
    return whole_unit(found["unit"], 2, asked, 0.8)


def _night_before_last(found: "re.Match[str]", asked: Asked) -> Period:
    return part_of(asked.today - timedelta(2), "night")


def _said_elsewhere(found: "re.Match[str]", asked: Asked) -> Period:
    unit, back = names.BACK_ELSEWHERE[found[0]]
    return whole_unit(unit, back, asked, 0.8)


def _until_now_elsewhere(found: "re.Match[str]", asked: Asked) -> Period:
    return until_now(names.UNITS_ELSEWHERE[found["unit"]], 1, asked, 0.8)


def _last_some(found: "re.Match[str]", asked: Asked) -> Period | None:
    unit = COUNTED_UNITS[found["unit"]]
    is_joined = asked.plain[found.start("unit") - 1] == "-"  # a half-year report
    if (is_joined or unit != found["unit"]) and _is_something_else(found, asked):
        return None
    return until_now(unit, 0.5 if found["half"] else number(found["amount"]), asked, 0.85)


def _is_something_else(found: "re.Match[str]", asked: Asked) -> bool:
    """Whether what looks like a unit is none, or is of another word: two HR meetings, two sec filings."""
    is_length = found["unit"] == "m"
    if is_length or asked.written[found.start("unit")].isupper():
        return True
    is_one_of_many = found[0].endswith("s")
    return not is_one_of_many and _NO_NOUN_AFTER.match(asked.plain, found.end()) is None


def _so_long_before_a_day(found: "re.Match[str]", asked: Asked) -> Period | None:
    """A week ago today is one day, and a week ago about a week."""
    day = asked.today - timedelta(_DAYS_BACK[found["word"]])
    same = None if found["half"] else same_day(COUNTED_UNITS[found["unit"]], found["amount"], day)
    return same or _ago(found, asked)


def _ago(found: "re.Match[str]", asked: Asked) -> Period | None:
    unit = COUNTED_UNITS[found["unit"]]
    if found["unit"] == "m" and found[0].endswith("back"):  # as far as that
        return None
    if found["half"]:
        return between(unit, 0.75, 0.25, asked, 0.75)
    return so_many_ago(unit, found["amount"], asked)


def _ago_elsewhere(found: "re.Match[str]", asked: Asked) -> Period:
    return so_many_ago(names.UNITS_ELSEWHERE[found["unit"]], found["amount"], asked)


def _weekend(found: "re.Match[str]", asked: Asked) -> Period:
    """Saturday and Sunday: those that began last, or while they last, those before where "last" was said."""
    saturday = asked.today - timedelta((asked.today.weekday() - 5) % 7)
    if found["which"] in ("last", "previous") and asked.today.weekday() >= 5:
        saturday -= timedelta(7)
    return days(saturday, 2, 0.8)


def _season(found: "re.Match[str]", asked: Asked) -> Period | None:
    """The one that began last, in the north; "last" means one that is over."""
    if _is_name(found, asked):
        return None
    start, today = names.SEASON_STARTS[found["season"]], asked.today
    began = months(today.year if today.month >= start else today.year - 1, start, 3, 0.6)
    if found["which"] in ("last", "previous") and began.end > asked.now:
        return months(today.year - 1 if today.month >= start else today.year - 2, start, 3, 0.6)
    return began


def _is_name(found: "re.Match[str]", asked: Asked) -> bool:
    """Whether a season with a capital is something else: in Spring Boot, in Fall River.

    Spring alone is so too where it opens a sentence: in the midst of one, many write seasons with a capital.
    """
    if found["which"] in ("last", "past", "previous") or not asked.written[found.start("season")].isupper():
        return False
    if _NAME_AFTER.match(asked.written, found.end()):
        return True
    opens = _OPENS_SENTENCE.search(asked.before(found.start())) is not None
    return opens and found["season"] == "spring" and found["which"] is None


_WHICH = r"(?P<which>last|past|previous|this)"
_OVER = r"(?:in|over|during|within)\s+(?:the\s+)?"
RELATIVE: tuple[tuple[str, Reader], ...] = (
    (rf"\b{SO_MANY}\s+ago\s+(?P<word>today|yesterday)\b", _so_long_before_a_day),
    (rf"\b(?P<word>{names.either(_DAYS_BACK)})\b(?:\s+{PART}\b)?", _day_back),
    (rf"\bthis\s+{PART}\b|\btonight\b", _this_part),
    (r"\blast\s+night\b", _last_night),
    (rf"\b{SO_MANY}\s+(?:ago|earlier|back)\b", _ago),
    (rf"\b(?:last|past|previous)\s+{SO_MANY}\b(?!-|\s+of\b)", _last_some),
    (rf"\b(?:the\s+)?(?P<unit>week|month|quarter|year)\s+before\s+{LAST_ITSELF}", _unit_before_last),
    (rf"\b(?:the\s+)?night\s+before\s+{LAST_ITSELF}", _night_before_last),
    (rf"\b{_WHICH}\s+{UNIT}\b(?!\s+of\b)", _unit_back),
    (
        rf"\b(?:{names.UNTIL_NOW})\s+{_UNIT_ELSEWHERE}\b(?!\s+(?:{names.OF_ELSEWHERE})\b)",
        _until_now_elsewhere,
    ),
    (rf"\b(?:{names.either(names.BACK_ELSEWHERE)})\b", _said_elsewhere),
    (rf"\b(?:vor|il\s+y\s+a|hace)\s+{_AMOUNT_ELSEWHERE}\s+{_UNIT_ELSEWHERE}\b", _ago_elsewhere),
    (rf"\b(?:{_WHICH}|(?:over|at|on|during)\s+the)\s+weekend\b", _weekend),
    (rf"\b(?:{_WHICH}|{_OVER})\s*{_SEASON}\b", _season),
)
