"""The times that a question names, in English: dates, weekdays, and distances such as "two weeks ago"."""

import re
from collections.abc import Sequence, Set
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from msgspec import Struct

from quire.errors import InvalidValue, WrongType, cut
from quire.memory.words import language_of, terms

DAY = 86_400.0
_UNREPRESENTABLE = (ValueError, OverflowError, OSError)


class Span(Struct, frozen=True):
    """A time that a question names: from `start` to `end`, in seconds of UTC, and its words."""

    start: float
    end: float
    words: str


def zone_of(zone: str | tzinfo) -> tzinfo:
    """A zone by its name in the IANA database; a `tzinfo` is returned as it is."""
    if isinstance(zone, tzinfo):
        return zone
    if not isinstance(zone, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a zone must be a name or a datetime.tzinfo, not {type(zone).__name__}")
    try:
        return UTC if zone == "UTC" else ZoneInfo(zone)
    except (KeyError, *_UNREPRESENTABLE) as fault:
        raise InvalidValue(
            f"there is no zone {cut(zone)!r}: its name must be one such as 'Europe/Paris',"
            " and where the system knows none, `pip install tzdata`"
        ) from fault


def shown_at(at: float, zone: tzinfo) -> float:
    """The local time of a zone as if it were UTC; outside the calendar, the time itself."""
    if zone is UTC:
        return at
    try:
        offset = datetime.fromtimestamp(at, zone).utcoffset()
    except _UNREPRESENTABLE:
        return at
    return at + offset.total_seconds() if offset else at


# Reading

_MAX_READ = 2_000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ONE_TO_TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_VAGUE = {"a couple of": 2, "a few": 3, "few": 3, "several": 4}
_NUMBERS = {**_VAGUE, "a": 1, "an": 1, **{word: nth for nth, word in enumerate(_ONE_TO_TEN, 1)}}
_SECONDS = {
    "minute": 60.0,
    "hour": DAY / 24,
    "day": DAY,
    "week": 7 * DAY,
    "month": 30.4 * DAY,
    "year": 365 * DAY,
}
_LAST = {"last", "past", "previous"}
_OPENING = {"since", "after", "before", "until", "till"}
_DATING = {*_OPENING, "in", "during", "last", "this", "early", "late"}
"""Words before a month or a year that make it a time, which "What did April say?" and "room 2022" lack."""

_TIME = re.compile(
    r"""
    (?<![-.,/\w])
    (?P<lead>(?:(?:since|after|before|until|till|in|on|over|during|early|late|the|last|past|previous|this)\s+)*)
    (?: (?P<iso>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})
      | (?P<numeric>[0-9]{1,2}(?P<mark>[/.])[0-9]{1,2}(?P=mark)[12][0-9]{3})
      | (?:(?P<nth>[0-3]?[0-9])(?:st|nd|rd|th)?\s+(?:of\s+)?)?
        (?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?
                  |oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?
        (?:\s+(?:the\s+)?(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?(?![\w:%]|[.,][0-9]))?
        (?:,?\s+(?:of\s+)?(?P<year>(?:19|20)[0-9]{2}|last\s+year))?
      | (?P<alone>(?:19|20)[0-9]{2})(?!%|[.,:-][0-9])
      | (?P<back>today|tonight|(?:day\s+before\s+)?yesterday)(?:\s+(?:morning|afternoon|evening|night))?
      | (?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)
      | (?<!hundred\sand\s)(?<!thousand\sand\s)(?P<amount>[0-9]{1,4}|NUMBERS)\s+
        (?P<unit>minute|hour|day|week|month|year)s?(?P<ago>\s+ago)?
      | (?P<whole>hour|week|weekend|month|year|morning|evening|night)(?!\s+of\b)
    )(?!\w)
    """.replace("NUMBERS", "|".join(_NUMBERS).replace(" ", r"\s+")),
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_AWAY = re.compile(r"\b(?:day|week|month|year)s?\s+$", re.IGNORECASE)
"""A distance before a time: "two weeks before June 1" is not everything before it."""

_NAMES = frozenset((*_MONTHS, *_WEEKDAYS))
_Match = re.Match[str]
_Period = tuple[float, float]


def spans_of(question: str, now: float, zone: tzinfo = UTC) -> list[Span]:
    """The times that a question names, in its order, with days of the zone.

    A month or a day without a year is the last one, and 5/6/2025 gives two days. The future (tomorrow, next
    week) is ignored, because nothing is recorded there.
    """
    spans: list[Span] = []
    for match in _TIME.finditer(question[:_MAX_READ]):
        try:
            today = datetime.fromtimestamp(now, zone).date()
            lead = {*match["lead"].lower().split()}
            if _AWAY.search(question, max(0, match.start() - 10), match.start()):
                lead -= {"before", "after"}
            periods = _distance(match, lead, now) or [
                (_midnight(first, zone), _midnight(end, zone)) for first, end in _days(match, lead, today)
            ]
        except _UNREPRESENTABLE:  # the 31st of June, or a time outside the calendar
            continue
        spans += (Span(*_extended(period, lead, now), match[0]) for period in periods)
    return spans


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime.combine(day, time(), zone).timestamp()


def _extended(period: _Period, lead: Set[str], now: float) -> _Period:
    """A time extended by the word before it: since, after, before or until."""
    start, end = period
    if not lead.isdisjoint(("since", "after")):
        return start if "since" in lead else end, max(now, end)
    if not lead.isdisjoint(("before", "until", "till")):
        return min(0.0, start), start if "before" in lead else end
    return period


def _distance(match: _Match, lead: Set[str], now: float) -> list[_Period]:
    """The period of "two weeks ago", plus or minus a quarter, or of "the last two hours", which end now."""
    if whole := match["whole"]:
        length = _SECONDS.get(whole.lower(), 0.0)
        ends_now = "past" in lead or ("last" in lead and not lead.isdisjoint(("in", "over", "during")))
        return [(now - length, now)] if length and ends_now else []
    if not match["amount"]:
        return []
    amount, unit = " ".join(match["amount"].lower().split()), match["unit"].lower()
    length = (int(amount) if amount.isdigit() else _NUMBERS[amount]) * _SECONDS[unit]
    if match["ago"] and (unit != "day" or amount in _VAGUE):
        margin = max(length / 4, min(_SECONDS[unit] / 2, 45 * DAY))
        return [(now - length - margin, now - length + margin)]
    return [] if match["ago"] or lead.isdisjoint(_LAST) else [(now - length, now)]


def _days(match: _Match, lead: Set[str], today: date) -> list[tuple[date, date]]:
    """The periods that a date may mean, each by its first day and the day after its last."""
    if match["iso"]:
        return [_day(date(*map(int, match["iso"].split("-"))))]
    if match["numeric"]:
        first, second, year = map(int, match["numeric"].split(match["mark"]))
        pairs = {(first, second), (second, first)}
        return [_day(date(year, month, day)) for month, day in pairs if month <= 12]
    if match["month"]:
        return _days_of_month(match, lead, today)
    if match["alone"]:
        year = int(match["alone"])
        return [(date(year, 1, 1), date(year + 1, 1, 1))] if lead & _DATING else []
    if match["weekday"]:
        ago = (today.weekday() - _WEEKDAYS.index(match["weekday"][:3].lower()) - 1) % 7 + 1
        return [_day(today - timedelta(ago))] if lead - {"the"} else []
    if match["ago"]:
        return [_day(today - timedelta(_NUMBERS.get(match["amount"].lower()) or int(match["amount"])))]
    if match["back"]:
        back = {"t": 0, "y": 1, "d": 2}[match["back"][0].lower()]
        return [_day(today - timedelta(back))]
    return _whole_unit((match["whole"] or "").lower(), lead, today)


def _day(day: date) -> tuple[date, date]:
    return day, day + timedelta(1)


def _days_of_month(match: _Match, lead: Set[str], today: date) -> list[tuple[date, date]]:
    month, day = _MONTHS.index(match["month"][:3].lower()) + 1, int(match["nth"] or match["day"] or 0)
    # "I may 3 times" and "march on" name no month.
    is_dated = lead & _DATING or match["year"] or (day and match["month"] not in ("may", "mar", "march"))
    if not is_dated and not (day and "on" in lead):
        return []
    year = int(match["year"]) if (match["year"] or "").isdigit() else today.year - bool(match["year"])
    first = date(year, month, day or 1)
    if not match["year"] and (first > today or ("last" in lead and month == today.month)):
        first = first.replace(year=year - 1)
    return [_day(first) if day else (first, (first + timedelta(31)).replace(day=1))]


def _whole_unit(unit: str, lead: Set[str], today: date) -> list[tuple[date, date]]:
    """The days of "last week", which is that of the calendar, or of "the weekend", which began last."""
    is_last = not lead.isdisjoint(_LAST)
    if unit == "weekend" and lead - {"the"}:
        is_before = is_last and today.weekday() >= 5
        saturday = today - timedelta((today.weekday() - 5) % 7 + 7 * is_before)
        return [(saturday, saturday + timedelta(2))]
    if not is_last and "this" not in lead:
        return []
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * is_last)
        return [(monday, monday + timedelta(7))]
    if unit == "month":
        first = (today.replace(day=1) - timedelta(is_last)).replace(day=1)
        return [(first, (first + timedelta(31)).replace(day=1))]
    if unit == "year":
        return [(date(today.year - is_last, 1, 1), date(today.year - is_last + 1, 1, 1))]
    return [_day(today - timedelta(is_last))] if unit not in ("", "hour") else []


# Times as terms

_PAST = re.compile(
    r"\b(?:did|was|were|had|been|talk(?:ed|ing)?|speak(?:ing)?|spoken?|discuss(?:ed)?|chat(?:ted)?|say|said"
    r"|tell|told|ask(?:ed)?|mention(?:ed)?|happen(?:ed)?|remember|recap|summar(?:y|i[sz]e)|conversations?)\b",
    re.IGNORECASE,
)


def terms_without_times(question: str, spans: Sequence[Span]) -> list[str]:
    """The terms of a question to search for, without those of its times.

    Names of days and months are searched only if the question is not about the past ("What is on Monday?").
    The verbs of a question about the past ("What did we talk about last week?") are not searched.
    """
    if not spans:
        return terms(question)
    rest = question
    for span in spans:
        rest = rest.replace(span.words, " ", 1)
    asked = _PAST.sub(" ", rest)
    named = [word for span in spans for word in span.words.split() if word[:3].lower() in _NAMES]
    return terms(asked, language=language_of(question)) + (terms(" ".join(named)) if asked == rest else [])
