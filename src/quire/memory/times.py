"""The times that a question names: dates, months, weekdays, and distances such as "two weeks ago".

A rule is a pattern and a function that makes periods of its match. Rules are tried in order, and what one
has read no later one reads again. Rules and word lists are in `times.toml`: all of English, and the names of
days and months in German, French and Spanish.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from quire.errors import InvalidValue, WrongType, cut
from quire.memory.words import language_of, same_length, terms

DAY = 86_400.0
HOUR = 3_600.0
_UNREPRESENTABLE = (ValueError, OverflowError, OSError)

# Days, weeks, months and years of a zone, as spans of UTC epoch seconds


class Span(Struct, frozen=True):
    """A time that a question names: from `start` up to `end`, its words, and from 0 to 1 how sure it is."""

    start: float
    end: float
    words: str
    sure: float


class Period(NamedTuple):
    """A time as the calendar gives it, before words such as "since" are applied."""

    start: float
    end: float
    sure: float


class Calendar:
    """The calendar of a zone at a moment. Beyond its years there is a `ValueError` or an `OverflowError`."""

    def __init__(self, now: float, zone: tzinfo) -> None:
        self.now = now
        self.zone = zone
        self.today = self.day_at(now)

    def day_at(self, at: float) -> date:
        return datetime.fromtimestamp(at, self.zone).date()

    def at(self, day: date, hour: int = 0) -> float:
        """When the clocks of the zone show an hour of a day; from 24 on it is of the next day."""
        days, hour = divmod(hour, 24)
        return datetime.combine(day + timedelta(days), time(hour), self.zone).timestamp()

    def days(self, first: date, count: int, sure: float) -> Period:
        return Period(self.at(first), self.at(first + timedelta(count)), sure)

    def week(self, day: date, sure: float) -> Period:
        """The week of a day, from Monday."""
        return self.days(day - timedelta(day.weekday()), 7, sure)

    def months(self, year: int, month: int, count: int, sure: float) -> Period:
        """Consecutive months. A month before January or after December is of another year."""
        return Period(self.at(first_of(year, month)), self.at(first_of(year, month + count)), sure)

    def latest_year(self, month: int, day: int = 1) -> int:
        """The year in which a day was last. The 29th of February may be some years ago."""
        for year in range(self.today.year, self.today.year - 9, -1):
            try:
                if date(year, month, day) <= self.today:
                    return year
            except ValueError:
                continue
        raise ValueError("a day that no year has")


def first_of(year: int, month: int) -> date:
    years, months = divmod(month - 1, 12)
    return date(year + years, months + 1, 1)


def zone_of(zone: str | tzinfo) -> tzinfo:
    """A zone by its name in the IANA database, or as it is given."""
    if isinstance(zone, tzinfo):
        return zone
    if not isinstance(zone, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a zone is a name or a datetime.tzinfo, not {type(zone).__name__}")
    try:
        return UTC if zone == "UTC" else ZoneInfo(zone)
    except (KeyError, *_UNREPRESENTABLE) as fault:
        raise InvalidValue(
            f"there is no zone {cut(zone)!r}: its name is one such as 'Europe/Paris',"
            " and where the system knows none, `pip install tzdata`"
        ) from fault


def shown_at(at: float, zone: tzinfo) -> float:
    """What the clock of a zone shows at a time, as if it were UTC; the time itself beyond the calendar."""
    if zone is UTC:
        return at
    try:
        offset = datetime.fromtimestamp(at, zone).utcoffset()
    except _UNREPRESENTABLE:
        return at
    return at + offset.total_seconds() if offset else at


# Questions

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("times.toml").read_text("utf-8"))
_READ = 2_000
_LONGEST_LEAD = 120
"""Characters before a time that may say something of it."""


class _Question(NamedTuple):
    """A question in lower case without accents, the same as it was written, and the calendar of who asks."""

    plain: str
    written: str
    calendar: Calendar

    def lead(self, name: str, to: int) -> "_Match | None":
        """What stands right before a place, by the name of its pattern."""
        return _pattern(name).search(self.plain, max(to - _LONGEST_LEAD, 0), to)


_Match = re.Match[str]
_Periods = Period | list[Period] | None
"""Several periods are alternatives: 5/6/2025 is in May or in June."""
_Reader = Callable[[_Match, _Question], _Periods]
_Rules = list[tuple[re.Pattern[str], _Reader]]


class _Found(NamedTuple):
    start: int
    stop: int
    periods: list[Period]


# Words as numbers, and patterns


def _numbered(*lists: str, start: int = 1) -> dict[str, int]:
    return {word: number for words in lists for number, word in enumerate(words.split(), start)}


def _inverse(name: str) -> dict[str, str]:
    return {word: key for key, words in _LISTS[name].items() for word in words}


_MONTHS = _numbered(*_LISTS["months"])
_DOUBTFUL_MONTHS = frozenset(_LISTS["doubtful_months"].split())
_NAMESAKE_MONTHS = _DOUBTFUL_MONTHS | frozenset(_LISTS["namesake_months"].split())
_WEEKDAYS = _numbered(*_LISTS["weekdays"], start=0)
_SEASONS: dict[str, int] = _LISTS["seasons"]
_DAYS_BACK, _YEARS_AWAY = _inverse("days"), _inverse("years")
_VAGUE = {word: int(number) for word, number in _inverse("vague").items()}
_TENS = {word: 10 * number for word, number in _numbered(_LISTS["tens"], start=2).items()}
_NUMBERS = {**_numbered(_LISTS["numbers"]), **_TENS, "a": 1, "an": 1, **_VAGUE}
_ORDINALS = _numbered(_LISTS["ordinals"])
_UNITS = {**_inverse("units"), **_LISTS["unit_letters"]}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_SECONDS = {
    **{"second": 1.0, "minute": 60.0, "hour": HOUR, "day": DAY, "week": 7 * DAY},
    **{unit: months * 365.25 / 12 * DAY for unit, months in _MONTHS_IN.items()},
}
_PARTS_OF_DAY = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
_PARTS_SAID = {"tonight": "evening", "last night": "night"}
_WEEKS_BACK = {"this week": 0, "last week": 1, "previous week": 1, "week before last": 2}
_WORDS: dict[str, Iterable[str]] = {
    **{name: _inverse(name) for name in ("days", "years", "units")},
    **{"months": _MONTHS, "weekdays": _WEEKDAYS, "seasons": _SEASONS, "numbers": _NUMBERS, "tens": _TENS},
    **{"short_weekdays": _LISTS["short_weekdays"].split(), "ones": _LISTS["numbers"].split()[:9]},
    **{"ordinals": [word.replace("-", "[- ]") for word in _ORDINALS], "talk": _LISTS["talk"].values()},
}


def _expanded(pattern: str) -> str:
    """A pattern with the patterns and the words, the longest first, that it names in braces."""

    def named(found: _Match) -> str:
        words = _WORDS.get(found[1])
        if words is None:
            return _expanded(_LISTS["patterns"][found[1]])
        return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"

    return re.sub(r"\{([a-z_]+)\}", named, pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_expanded(pattern).replace("[- ]", "[-\\s]").replace(" ", r"\s+"))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return _compiled(_LISTS["patterns"][name])


# Dates of the calendar


def _year_of(said: str | None, question: _Question) -> int | None:
    """The year beside a day or a month; of two digits it is the last one that ends so."""
    this = question.calendar.day_at(question.calendar.now).year
    if said is None or said.isdigit():
        return int(said) if said else None
    if said in _YEARS_AWAY:
        return this + int(_YEARS_AWAY[said])
    return this + 1 - (this + 1 - int(said[1:])) % 100


def _numeric_day(found: _Match, question: _Question) -> _Periods:
    """2025-05-03, 3.5.2025, 5/13/2025. Of two numbers below 13 either may be the month."""
    calendar, day, month, year = question.calendar, *(int(found[name]) for name in ("day", "number", "year"))
    if found.start("year") < found.start("day"):
        return calendar.days(date(year, month, day), 1, 1.0)
    if found["mark"] != "." and day != month and max(day, month) <= 12:
        return [calendar.days(date(year, *both), 1, 0.8) for both in ((month, day), (day, month))]
    return calendar.days(date(year, *sorted((day, month))) if month > 12 else date(year, month, day), 1, 0.9)


def _named_day(found: _Match, question: _Question) -> _Periods:
    """May 3, the third of May.

    A number beside a word that may be a month is a day if the word is written so: not in "I may 3 times".
    """
    is_sure = (
        found["month"] not in _DOUBTFUL_MONTHS or found["year"] or question.lead("day_lead", found.start())
    )
    if not is_sure and not question.written[found.start("month")].isupper():
        return None
    said, month, year = found["day"], _MONTHS[found["month"]], _year_of(found["year"], question)
    day = _ORDINALS.get(said.replace(" ", "-")) or int(re.sub("[^0-9]", "", said))
    known = question.calendar.latest_year(month, day) if year is None else year
    return question.calendar.days(date(known, month, day), 1, 0.8 if year is None else 0.95)


def _named_month(found: _Match, question: _Question) -> _Periods:
    """A month with a year, or after a word that makes it a time (since May)."""
    calendar, month = question.calendar, _MONTHS[found["month"]]
    year = _year_of(found["year"], question)
    if year is not None:
        return calendar.months(year, month, 1, 0.9)
    lead = "namesake_lead" if found["month"] in _NAMESAKE_MONTHS else "month_lead"
    before = question.lead(lead, found.start())
    if before is None:
        return None
    is_over = before[0].rstrip() == "last" and month == calendar.today.month
    return calendar.months(calendar.latest_year(month) - is_over, month, 1, 0.6)


def _months(found: _Match, question: _Question) -> _Periods:
    """Q2 2025, the summer of 2021, in 2022."""
    groups, year = found.groupdict(), _year_of(found["year"], question) or 0
    if season := groups.get("season"):
        return question.calendar.months(year, _SEASONS[season], 3, 0.8)
    if quarter := groups.get("quarter"):
        return question.calendar.months(year, 3 * int(quarter) - 2, 3, 0.9)
    is_led = question.lead("month_lead", found.start())
    return question.calendar.months(year, 1, 12, 0.7) if is_led else None


# Days and distances from now


def _day_or_part(day: date, part: str | None, question: _Question, sure: float) -> Period:
    if part is None:
        return question.calendar.days(day, 1, sure)
    first, last = _PARTS_OF_DAY[part]
    return Period(question.calendar.at(day, first), question.calendar.at(day, last), 0.9)


def _weekday(found: _Match, question: _Question) -> _Periods:
    """On Friday, last Friday, Friday last week."""
    number, today, week = _WEEKDAYS[found["weekday"]], question.calendar.today, found.groupdict().get("week")
    if week is None:
        last = today - timedelta((today.weekday() - number - 1) % 7 + 1)
        return _day_or_part(last, found["part"], question, 0.7)
    monday = today - timedelta(today.weekday() + 7 * _WEEKS_BACK[" ".join(week.split())])
    day = monday + timedelta(number)
    return None if day > today else _day_or_part(day, found["part"], question, 0.85)


def _weekday_alone(found: _Match, question: _Question) -> _Periods:
    """What did we do Friday? Without "on", a weekday ends a question of what was."""
    return _weekday(found, question) if question.lead("past_question", found.start()) else None


def _day_back(found: _Match, question: _Question) -> _Periods:
    """Today, yesterday evening, this morning, last night."""
    word = " ".join(found["word"].split())
    day = question.calendar.today - timedelta(int(_DAYS_BACK.get(word, 0)))
    return _day_or_part(day, found["part"] or _PARTS_SAID.get(word), question, 0.9)


def _number(said: str) -> float:
    if said[0].isdigit():
        return float(said)
    return _NUMBERS.get(said) or sum(_NUMBERS[word] for word in re.split(r"[-\s]+", said))


def _whole_unit(unit: str, back: int, question: _Question, sure: float) -> Period:
    """A day, week, month, quarter or year of the calendar. Hours end now."""
    calendar, today = question.calendar, question.calendar.today
    if unit == "day":
        return calendar.days(today - timedelta(back), 1, sure)
    if unit == "week":
        return calendar.week(today - timedelta(7 * back), sure)
    if unit not in _MONTHS_IN:
        return _about(unit, max(back, 1), 0, question, sure)
    length = _MONTHS_IN[unit]
    first = 1 if length >= 12 else length * ((today.month - 1) // length) + 1
    return calendar.months(today.year, first - back * length, length, sure)


def _about(unit: str, most: float, least: float, question: _Question, sure: float) -> Period:
    length, now = _SECONDS[unit], question.calendar.now
    return Period(now - most * length, now - least * length, sure)


def _so_many_ago(found: _Match, question: _Question) -> _Periods:
    """Whole days, months and years are those of the calendar; other amounts a quarter more or less."""
    unit, said = _UNITS[found["unit"]], found["amount"]
    amount = _number(said)
    if said in _VAGUE:
        return _about(unit, amount + 1.5, max(amount - 1.5, 0.5), question, 0.5)
    if unit == "year" and amount == 1:  # about the same month, and not all of the year before
        return question.calendar.days(question.calendar.today - timedelta(395), 60, 0.75)
    if unit in ("day", "month", "year") and not amount % 1:
        return _whole_unit(unit, int(amount), question, 0.85)
    some = max(amount / 4, 0.5)
    return _about(unit, amount + some, amount - some, question, 0.75)


def _last_some(found: _Match, question: _Question) -> _Periods:
    """The last two hours."""
    return _about(_UNITS[found["unit"]], _number(found["amount"]), 0, question, 0.85)


def _one_unit(found: _Match, question: _Question) -> _Periods:
    """Last week, or the week before last, is that of the calendar; the past week ends now."""
    unit, which = found["unit"], found.groupdict().get("which")
    if which == "past" or (which == "last" and question.lead("within_lead", found.start())):
        return _about(unit, 1, 0, question, 0.8)
    back = 2 if which is None else 0 if which == "this" else 1
    return _whole_unit(unit, back, question, 0.8)


def _weekend(found: _Match, question: _Question) -> _Periods:
    """The Saturday and Sunday that began last; on a weekend, "last" means the one before."""
    today = question.calendar.today
    is_before = found["which"] in ("last", "previous") and today.weekday() >= 5
    return question.calendar.days(today - timedelta((today.weekday() - 5) % 7 + 7 * is_before), 2, 0.8)


def _season(found: _Match, question: _Question) -> _Periods:
    """The one that began last; "last" means one that is over."""
    start, calendar = _SEASONS[found["season"]], question.calendar
    year = calendar.today.year - (calendar.today.month < start)
    began = calendar.months(year, start, 3, 0.6)
    if found["which"] in ("last", "previous") and began.end > calendar.now:
        return calendar.months(year - 1, start, 3, 0.6)
    return began


# From periods to spans

_READERS: tuple[_Reader, ...] = (
    *(_numeric_day, _named_day, _named_month, _months, _weekday, _weekday_alone, _day_back, _so_many_ago),
    *(_last_some, _one_unit, _weekend, _season),
)


@cache
def _rules(kind: str) -> _Rules:
    readers = {reader.__name__: reader for reader in _READERS}
    return [(_compiled(pattern), readers[f"_{name}"]) for name, pattern in _LISTS["rules"][kind]]


def spans_of(question: str, now: float, zone: tzinfo = UTC) -> list[Span]:
    """All times that a question names, in its order, with days of the zone.

    A month or a day without a year is the last one. What is still to come (tomorrow, next week) is no time of
    anything recorded.
    """
    try:
        calendar = Calendar(now, zone)
    except _UNREPRESENTABLE:
        return []
    written = question[:_READ]
    asked = _Question(same_length(written).replace("\u2019", "'"), written, calendar)
    found = _apart(_read(asked, _rules("dates") + _rules("relative")))
    spans = list(_ranges(found, asked))
    return spans or [_opened(one, period, asked) for one in found for period in one.periods]


def readings(spans: Sequence[Span]) -> list[Span]:
    """The surest of several times, and what else its words may mean: 5/6/2025 is in May or in June."""
    best = max(spans, key=lambda span: span.sure, default=None)
    return [] if best is None else list(dict.fromkeys(one for one in spans if one.words == best.words))


def _read(question: _Question, rules: _Rules) -> Iterator[_Found]:
    for pattern, reader in rules:
        for found in pattern.finditer(question.plain):
            try:
                periods = reader(found, question)
            except (ValueError, OverflowError):  # the 31st of June, the year 0
                continue
            kept = [periods] if isinstance(periods, Period) else periods
            if kept and all(period.start <= period.end for period in kept):
                yield _Found(*found.span(), kept)


def _apart(found: Iterable[_Found]) -> list[_Found]:
    """Those that share no character with one found before them, in the order of the question."""
    kept: list[_Found] = []
    for one in found:
        if all(one.stop <= other.start or one.start >= other.stop for other in kept):
            kept.append(one)
    return sorted(kept)


def _ranges(found: Sequence[_Found], question: _Question) -> Iterator[Span]:
    """Two times joined by "to"; by "and" only after "between" or "from"."""
    for first, last in pairwise(found):
        opens = question.lead("range_lead", first.start)
        joined = _pattern("joins_range").fullmatch(question.plain, first.stop, last.start)
        if not joined or (joined["and"] and not opens):
            continue
        words = question.written[opens.start() if opens else first.start : last.stop]
        # A year that is not said fits the end; days that may be two are read alike.
        then = copy(question.calendar)
        then.today = then.day_at(last.periods[0].start)
        again = _read(question._replace(calendar=then), _rules("dates"))
        fitting = next((one for one in again if one[:2] == first[:2]), first)
        for opening, closing in zip(cycle(fitting.periods), last.periods, strict=False):
            if opening.start < closing.end:
                yield Span(opening.start, closing.end, words, closing.sure)


def _opened(found: _Found, period: Period, question: _Question) -> Span:
    """A time with what was said of it: since, after, before, until, or nothing."""
    start, end, sure = period
    now, past = max(question.calendar.now, end), min(0.0, start)
    if to_now := _pattern("until_now").match(question.plain, found.stop):
        return Span(start, now, question.written[found.start : to_now.end()], sure)
    spans = {"since": (start, now), "after": (end, now), "before": (past, start), "until": (past, end)}
    for opener, (first, last) in spans.items():
        if lead := question.lead(opener, found.start):
            return Span(first, last, question.written[lead.start() : found.stop], sure * 0.9)
    return Span(start, end, question.written[found.start : found.stop], sure)


# Times as terms.


def terms_without_times(question: str, spans: Sequence[Span]) -> list[str]:
    """The terms to look for in a question, without those of its times.

    Names of days and months are looked for in a question that is not of the past ("What is on Monday?"). A
    question of the past does not look for its verbs ("What did we talk about last week?").
    """
    if not spans:
        return terms(question)
    rest, named = question, list[str]()
    for words in dict.fromkeys(span.words for span in spans):
        rest = rest.replace(words, " ", 1)
        named += [one for one in words.split() if _pattern("by_name").search(same_length(one))]
    past = _LISTS["past"].get(language_of(question), "").split()
    plain = {one: same_length(one).strip(".,;:?!") for one in rest.split()}
    talk = [one for one, bare in plain.items() if _pattern("talk_word").fullmatch(bare) or bare in past]
    verbs = terms(" ".join(talk), like=question)
    found = [one for one in terms(rest, like=question) if one not in verbs]
    if not talk:
        found += [one for one in terms(" ".join(named), like=question) if not one.isdigit()]
    return found
