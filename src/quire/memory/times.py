"""The times that a question names: dates, months, weekdays, and distances such as "two weeks ago".

A rule is a pattern and a function that makes periods of its match. Rules are tried in order, and what one
has read no later one reads again. Word lists of English, German, French and Spanish are in `times.toml`.
"""

import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from quire.memory.dates import DAY, HOUR, Calendar, Period, Span, first_of, months_before
from quire.memory.words import MONTHS, language_of, same_length, stem, terms

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("times.toml").read_text("utf-8"))
_READ = 2_000
_LONGEST_LEAD = 120
"""Characters before a time that may say something of it."""


class _Question(NamedTuple):
    """A question in lower case without accents, the same as it was written, and the calendar of who asks."""

    plain: str
    written: str
    calendar: Calendar

    def before(self, at: int) -> str:
        return self.plain[max(at - _LONGEST_LEAD, 0) : at].rstrip()

    def ends(self, at: int) -> bool:
        """Whether a clause ends at a place."""
        return _pattern("clause_end").match(self.plain, at) is not None


_Match = re.Match[str]
_Periods = Period | list[Period] | None
"""Several periods are alternatives: 5/6/2025 is in May or in June."""
_Reader = Callable[[_Match, _Question], _Periods]
_Rules = list[tuple[re.Pattern[str], _Reader]]


class _Found(NamedTuple):
    start: int
    stop: int
    periods: list[Period]


# Words as numbers, and patterns.


def _either(words: Iterable[str]) -> str:
    """A pattern for one of some words, the longest first."""
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


def _numbered(*lists: str, start: int = 1) -> dict[str, int]:
    return {word: number for words in lists for number, word in enumerate(words.split(), start)}


def _inverse(table: dict[str, list[str]]) -> dict[str, str]:
    return {word: key for key, words in table.items() for word in words}


_MONTHS = _numbered(*_LISTS["months"])
_DOUBTFUL_MONTHS = frozenset(_LISTS["doubtful_months"].split())
_NAMESAKE_MONTHS = _DOUBTFUL_MONTHS | frozenset(_LISTS["namesake_months"].split())
_WEEKDAYS = _numbered(*_LISTS["weekdays"], start=0)
_SEASONS: dict[str, int] = _LISTS["seasons"]
_DAYS_BACK = _inverse(_LISTS["days"])
_YEARS_AWAY = _inverse(_LISTS["years"])
_PHRASES = {**_inverse(_LISTS["back"]), **_inverse(_LISTS["until_now_phrases"])}
_VAGUE = {word: int(number) for word, number in _inverse(_LISTS["vague"]).items()}
_TENS = {word: 10 * number for word, number in _numbered(_LISTS["tens"], start=2).items()}
_NUMBERS = {**_numbered(*_LISTS["numbers"]), **_TENS, "a": 1, "an": 1, **_VAGUE}
_ORDINALS = _numbered(_LISTS["ordinals"])
_UNITS = {**_inverse(_LISTS["units"]), **_inverse(_LISTS["units_elsewhere"]), **_LISTS["unit_letters"]}
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": HOUR, "day": DAY, "week": 7 * DAY, "fortnight": 14 * DAY}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_PARTS_OF_DAY = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
_PARTS_SAID = {"tonight": "evening", "last night": "night"}
_THIRDS = {"early": 0, "start": 0, "beginning": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_WEEKS_OF_MONTH = {"first": 0, "second": 1, "third": 2, "last": -1}
_WEEKS_BACK = {"this week": 0, "last week": 1, "previous week": 1, "week before last": 2}
_WORDS = {
    **{name: _inverse(_LISTS[name]) for name in ("days", "years", "units", "units_elsewhere", "back")},
    **{"months": _MONTHS, "weekdays": _WEEKDAYS, "seasons": _SEASONS, "numbers": _NUMBERS, "tens": _TENS},
    **{"short_weekdays": _LISTS["short_weekdays"].split(), "ones": _LISTS["numbers"][0].split()[:9]},
    **{"ordinals": [word.replace("-", "[- ]") for word in _ORDINALS], "talk": _LISTS["talk"].values()},
    "until_now_phrases": _inverse(_LISTS["until_now_phrases"]),
}


def _expanded(pattern: str) -> str:
    """A pattern with the patterns and the words that it names in braces."""

    def named(found: _Match) -> str:
        name = found[1]
        return _either(_WORDS[name]) if name in _WORDS else _expanded(_LISTS["patterns"][name])

    return re.sub(r"\{([a-z_]+)\}", named, pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_expanded(pattern).replace("[- ]", "[-\\s]").replace(" ", r"\s+"))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return _compiled(_LISTS["patterns"][name])


# Dates of the calendar.


def _year_of(said: str | None, found: _Match, question: _Question) -> int | None:
    """The year beside a day or a month; of two digits it is the last one that ends so."""
    this = question.calendar.day_at(question.calendar.now).year
    if said is None:
        before = _pattern("year_before").search(question.before(found.start()))
        said = before[1] if before else None
    if said is None or said.isdigit():
        return int(said) if said else None
    if said in _YEARS_AWAY:
        return this + int(_YEARS_AWAY[said])
    return this + 1 - (this + 1 - int(said[1:])) % 100


def _numeric_day(found: _Match, question: _Question) -> _Periods:
    """2025-05-03, 3.5.2025, 5/13/2025. Of two numbers below 13 either may be the month."""
    calendar, mark = question.calendar, found["mark"]
    if mark == "." and _pattern("version").search(question.before(found.start())):
        return None
    day, month, year = int(found["day"]), int(found["number"]), int(found["year"])
    if found.start("year") < found.start("day"):
        return calendar.days(date(year, month, day), 1, 1.0)
    if mark != "." and day != month and max(day, month) <= 12:
        return [calendar.days(date(year, *both), 1, 0.8) for both in ((month, day), (day, month))]
    return calendar.days(date(year, *sorted((day, month))) if month > 12 else date(year, month, day), 1, 0.9)


def _day(said: str, found: _Match, question: _Question) -> Period:
    number = _ORDINALS.get(said.replace(" ", "-")) or int(re.sub("[^0-9]", "", said))
    month, year = _MONTHS[found["month"]], _year_of(found["year"], found, question)
    known = question.calendar.latest_year(month, number) if year is None else year
    return question.calendar.days(date(known, month, number), 1, 0.8 if year is None else 0.95)


def _named_day(found: _Match, question: _Question) -> _Periods:
    return _day(found["day"], found, question) if _is_dated(found, question) else None


def _is_dated(found: _Match, question: _Question) -> bool:
    """Whether a number beside a word that may be a month is a day: "May 3", and not "I may 3 times"."""
    is_doubtful = found["month"] in _DOUBTFUL_MONTHS or not found["day"][0].isdigit()
    if not is_doubtful or found["year"] or _pattern("leads_to_day").search(question.before(found.start())):
        return True
    if _pattern("to_another_day").match(question.plain, found.end()):
        return True
    return question.ends(found.end()) and question.written[found.start("month")].isupper()


def _days_of_month(found: _Match, question: _Question) -> _Periods:
    """May 3-7, and from 3 to 7 May. With "and" alone either day is meant."""
    is_led = found["opens"] and found["month"] not in _DOUBTFUL_MONTHS
    is_of_another = _pattern("month_before").search(question.before(found.start()))
    if is_of_another or not (is_led or _is_dated(found, question)):
        return None
    first, last = (_day(found[day], found, question) for day in ("day", "last"))
    if first.start >= last.start:
        return None
    return [first, last] if found["and"] and not found["opens"] else last._replace(start=first.start)


def _named_month(found: _Match, question: _Question) -> _Periods:
    """A month with a year, with a part (early May), or after a word that makes it a time (since May)."""
    month, year, part = _MONTHS[found["month"]], _year_of(found["year"], found, question), found["part"]
    if year is not None:
        return _month(year, month, part, question.calendar, 0.9)
    before = question.before(found.start())
    is_joined = _pattern("until_now").match(question.plain, found.end())
    is_namesake = found["month"] in _NAMESAKE_MONTHS and not is_joined
    if not (part or _pattern("leads_to_namesake" if is_namesake else "leads_to_month").search(before)):
        return None
    is_over = before.endswith("last") and month == question.calendar.today.month
    return _month(question.calendar.latest_year(month) - is_over, month, part, question.calendar, 0.6)


def _month(year: int, month: int, part: str | None, calendar: Calendar, sure: float) -> Period:
    whole, first = calendar.months(year, month, 1, sure), first_of(year, month)
    if part is None:
        return whole
    name = part.split()[0]
    if name in _THIRDS:
        third = calendar.days(first + timedelta(10 * _THIRDS[name]), 10, sure)
        return third._replace(end=whole.end) if _THIRDS[name] == 2 else third
    week = _WEEKS_OF_MONTH[name]
    return calendar.days((first if week >= 0 else first_of(year, month + 1)) + timedelta(7 * week), 7, sure)


def _several_months(found: _Match, question: _Question) -> _Periods:
    """From March to May, May-June 2024, in March and June. Without a lead or a year they may be people."""
    if not (found["led"] or found["year"]):
        return None
    numbers = [_MONTHS[name.rstrip(".")] for name in _pattern("a_month").findall(found[0])]
    is_stretch = found["and"] is None or _pattern("opener").match(found["led"] or "")
    periods: list[Period] = []
    for first, last in [(numbers[0], numbers[-1])] if is_stretch else zip(numbers, numbers, strict=True):
        year = _year_of(found["year"], found, question)
        sure, year = (0.6, question.calendar.latest_year(last)) if year is None else (0.9, year)
        periods.append(question.calendar.months(year - (first > last), first, (last - first) % 12 + 1, sure))
    return periods


def _months(found: _Match, question: _Question) -> _Periods:
    """2023-05, Q2 2025, the summer of 2021, from 2019 to 2021, in 2022."""
    groups, year = found.groupdict(), _year_of(found["year"], found, question) or 0
    if season := groups.get("season"):
        return question.calendar.months(year, _SEASONS[season], 3, 0.8)
    if quarter := groups.get("quarter"):
        return question.calendar.months(year, 3 * int(quarter) - 2, 3, 0.9)
    if number := groups.get("number"):
        return question.calendar.months(year, int(number), 1, 0.9)
    if until := groups.get("until"):
        return question.calendar.months(year, 1, 12 * (int(until) - year + 1), 0.8)
    is_led = _pattern("leads_to_month").search(question.before(found.start()))
    return question.calendar.months(year, 1, 12, 0.7) if is_led else None


# Weekdays.


def _is_when_it_was(found: _Match, question: _Question) -> bool:
    """Whether a day ends a question of what was."""
    clause = re.split("[.?!;:]", question.before(found.start()))[-1].strip()
    is_past = _pattern("past_question").search(clause) and not _pattern("plan").search(clause)
    return bool(is_past) and question.ends(found.end())


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
    """What did we do Friday? Without "on" it must end a question of what was, and follow no name."""
    word = question.written[: found.start()].split()[-1:] or [""]
    is_after_name = word[0][:1].isupper() and word != ["I"]
    is_other = is_after_name or _pattern("no_weekday_after").search(question.before(found.start()))
    return _weekday(found, question) if _is_when_it_was(found, question) and not is_other else None


def _day_alone(found: _Match, question: _Question) -> _Periods:
    """On the 4th: the last day of that number, at the end of a question of what was."""
    today = question.calendar.today
    for back in range(3 if _is_when_it_was(found, question) else 0):
        first = months_before(today.replace(day=1), back)
        day = first + timedelta(int(found["day"]) - 1)
        if day <= today and day.month == first.month:
            return question.calendar.days(day, 1, 0.7)
    return None


# Distances from now.


def _number(said: str) -> float:
    if said[0].isdigit():
        return float(said)
    return _NUMBERS.get(said) or sum(_NUMBERS[word] for word in re.split(r"[-\s]+", said))


def _whole_unit(unit: str, back: int, question: _Question, sure: float) -> Period:
    """A day, week, month, quarter or year of the calendar. Hours and fortnights end now."""
    calendar, today = question.calendar, question.calendar.today
    if unit == "day":
        return calendar.days(today - timedelta(back), 1, sure)
    if unit == "week":
        return calendar.week(today - timedelta(7 * back), sure)
    if unit not in _MONTHS_IN:
        return _until_now(unit, max(back, 1), question, sure)
    length = _MONTHS_IN[unit]
    first = 1 if length >= 12 else length * ((today.month - 1) // length) + 1
    return calendar.months(today.year, first - back * length, length, sure)


def _until_now(unit: str, amount: float, question: _Question, sure: float) -> Period:
    months = amount * _MONTHS_IN.get(unit, 0)
    if unit in _MONTHS_IN and not months % 1:
        return Period(question.calendar.months_ago(int(months)), question.calendar.now, sure)
    return _about(unit, amount, 0, question, sure)


def _about(unit: str, most: float, least: float, question: _Question, sure: float) -> Period:
    length, now = _SECONDS.get(unit) or _MONTHS_IN[unit] * 30.5 * DAY, question.calendar.now
    return Period(now - most * length, now - least * length, sure)


def _so_many_ago(found: _Match, question: _Question) -> _Periods:
    """Whole days, months and years are those of the calendar; other amounts a quarter more or less."""
    unit, said, today = _UNITS[found["unit"]], found["amount"], question.calendar.today
    if found.groupdict().get("half"):
        return _about(unit, 0.75, 0.25, question, 0.75)
    amount = _number(said)
    if unit == "second":
        return _until_now(unit, max(3 * amount, 60), question, 0.5)
    if said in _VAGUE:
        most, least = (3 * amount, amount / 3) if unit == "minute" else (amount + 1.5, max(amount - 1.5, 0.5))
        return _about(unit, most, least, question, 0.5)
    if unit == "year" and amount == 1:  # about the same month, and not all of the year before
        return question.calendar.days(today - timedelta(395), 60, 0.75)
    if unit in ("day", "month", "year") and not amount % 1:
        return _whole_unit(unit, int(amount), question, 0.85)
    some = max(amount / 4, 0.5)
    return _about(unit, amount + some, amount - some, question, 0.75)


def _last_some(found: _Match, question: _Question) -> _Periods:
    """The last two hours. A unit cut short must end its clause: the last two HR meetings are no hours."""
    unit, is_joined = _UNITS[found["unit"]], question.plain[found.start("unit") - 1] == "-"
    is_cut = unit != found["unit"] or is_joined
    if found["unit"] == "m" or (is_cut and not question.ends(found.end())):
        return None
    return _until_now(unit, 0.5 if found["half"] else _number(found["amount"]), question, 0.85)


def _one_unit(found: _Match, question: _Question) -> _Periods:
    """Last week, or the week before last, is that of the calendar; the past week ends now."""
    unit, which = found["unit"], found.groupdict().get("which")
    if which is None:
        return _whole_unit(unit, 2, question, 0.8)
    before = question.before(found.start())
    is_within = _pattern("within_the").search(before) is not None
    if unit in ("minute", "day") and not (is_within or (unit == "day" and which in ("past", "this"))):
        return None  # the last day to apply, at the last minute
    is_owned = which != "this" and _pattern("owned").search(before) is not None
    if is_owned and not is_within and _pattern("for_something").match(question.plain, found.end()):
        return None  # my last year at school
    if which != "this" and (unit == "day" or which == "past" or (which == "last" and is_within)):
        return _until_now(unit, 1, question, 0.8)
    return _whole_unit(unit, 0 if which == "this" else 1, question, 0.8)


def _phrase(found: _Match, question: _Question) -> _Periods:
    """Last week, in other languages than English."""
    unit, *back = _PHRASES[" ".join(found["phrase"].split())].split()
    return _whole_unit(unit, int(back[0]), question, 0.8) if back else _until_now(unit, 1, question, 0.8)


def _day_back(found: _Match, question: _Question) -> _Periods:
    """Today, yesterday evening, this morning, last night."""
    word = " ".join(found["word"].split())
    if word == "hier" and language_of(question.written) != "french":  # in German it is "here"
        return None
    day = question.calendar.today - timedelta(int(_DAYS_BACK.get(word, 0)))
    return _day_or_part(day, found["part"] or _PARTS_SAID.get(word), question, 0.9)


def _weekend(found: _Match, question: _Question) -> _Periods:
    """The Saturday and Sunday that began last; on a weekend, "last" means the one before."""
    today = question.calendar.today
    is_before = found["which"] in ("last", "previous") and today.weekday() >= 5
    return question.calendar.days(today - timedelta((today.weekday() - 5) % 7 + 7 * is_before), 2, 0.8)


def _season(found: _Match, question: _Question) -> _Periods:
    """The one that began last; "last" means one that is over. "In Spring Boot" is none."""
    start, calendar, which = _SEASONS[found["season"]], question.calendar, found["which"]
    is_name = question.written[found.start("season")].isupper() and which not in ("last", "past", "previous")
    if is_name and _pattern("name_after").match(question.written, found.end()):
        return None
    year = calendar.today.year - (calendar.today.month < start)
    is_over = which not in ("last", "previous") or calendar.months(year, start, 3, 0.6).end <= calendar.now
    return calendar.months(year if is_over else year - 1, start, 3, 0.6)


# From periods to spans.

_READERS: tuple[_Reader, ...] = (
    *(_several_months, _days_of_month, _numeric_day, _named_day, _named_month, _months, _weekday, _season),
    *(_weekday_alone, _day_alone, _day_back, _so_many_ago, _last_some, _one_unit, _phrase, _weekend),
)
_LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 30.5 * DAY, "year": 365.25 * DAY}


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
    except (ValueError, OverflowError, OSError):
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


def _read(question: _Question, rules: _Rules, start: int = 0, stop: int = _READ) -> Iterator[_Found]:
    for pattern, reader in rules:
        for found in pattern.finditer(question.plain, start, stop):
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
        joined = _pattern("joins_range").fullmatch(question.plain, first.stop, last.start)
        opens, after, since = (_lead(one, first.start, question) for one in ("opens_range", "after", "since"))
        lower = opens or after or since
        if not joined or (joined["and"] and not opens) or (joined["before"] and not lower):
            continue
        words = question.written[lower.start() if lower else first.start : last.stop]
        for opening, closing in _ends_of_range(first, last, question):
            start, end = (
                opening.end if after else opening.start,
                closing.start if joined["before"] else closing.end,
            )
            if start < end:
                yield Span(start, end, words, closing.sure)


def _ends_of_range(first: _Found, last: _Found, question: _Question) -> Iterable[tuple[Period, Period]]:
    """Both ends of a range: days that may be two are read alike, and a year that is not said fits the end."""
    if len(first.periods) == len(last.periods) == 1:
        then = copy(question.calendar)
        then.today = then.day_at(last.periods[0].start)
        again = _read(question._replace(calendar=then), _rules("dates"), first.start, first.stop)
        fitting = next((one.periods for one in again if one.stop == first.stop), first.periods)
        return [(fitting[0], last.periods[0])]
    count = max(len(first.periods), len(last.periods))
    return zip((first.periods * count)[:count], (last.periods * count)[:count], strict=True)


def _opened(found: _Found, period: Period, question: _Question) -> Span:
    """A time with what was said of it: since, after, before, until, or nothing."""
    start, end, sure = period
    own = _pattern("own_lead").match(question.plain, found.start)
    before = own.end() if own else found.start
    now = max(question.calendar.now, end)
    if to_now := _pattern("until_now").match(question.plain, found.stop):
        return Span(start, now, question.written[found.start : to_now.end()], sure)
    is_day = end - start <= DAY + 2 * HOUR
    if is_day and (week := _lead("week_of", before, question)):
        start, end, _ = question.calendar.week(question.calendar.day_at(start), sure)
        return Span(start, end, question.written[week.start() : found.stop], sure)
    if distance := _lead("distance", before, question):
        return _at_distance(distance, period, question.written[distance.start() : found.stop])
    past = min(0.0, start)
    spans = {"since": (start, now), "after": (end, now), "before": (past, start), "until": (past, end)}
    for opener, (first, last) in spans.items():
        if lead := _lead(opener, before, question):
            return Span(first, last, question.written[lead.start() : found.stop], sure * 0.9)
    weekday = _lead("its_weekday", found.start, question) if is_day else None
    return Span(start, end, question.written[weekday.start() if weekday else found.start : found.stop], sure)


def _lead(name: str, to: int, question: _Question) -> _Match | None:
    """What opens a time and stands right before it."""
    return _pattern(name).search(question.plain, max(to - _LONGEST_LEAD, 0), to)


def _at_distance(found: _Match, period: Period, words: str) -> Span:
    """The week before a time, or the one around the day some weeks before it."""
    length, is_before = _LENGTHS[found["unit"]], found["side"] == "before"
    amount = 0.5 if found["amount"] is None else _number(found["amount"])
    if found["amount"] and found["unit"] == "day":
        amount -= 0.5
    centre = period.start - amount * length if is_before else period.end + amount * length
    return Span(centre - length / 2, centre + length / 2, words, period.sure * 0.9)


# Times as terms.


def is_by_calendar(words: str) -> bool:
    """Whether the words of a time give it by the calendar, and not as a distance from now."""
    return _pattern("by_calendar").search(same_length(words)) is not None


class Dated(NamedTuple):
    """The terms of a question that belong to its times.

    `numbers` count where a term of `beside`, such as the month, is said too. `named` days and months are
    words as well. `units` of distances ("last week") count where all terms of one of `distances` are said.
    With terms of `talk` the question asks what was said, or what happened: then it `is_past`.
    """

    numbers: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    distances: tuple[frozenset[str], ...] = ()
    talk: frozenset[str] = frozenset()
    is_past: bool = False

    def is_word(self, term: str) -> bool:
        """Whether a term counts wherever it is said."""
        return term not in self.numbers and term not in self.units

    def is_time(self, term: str) -> bool:
        """Whether a term only stands in a time that the question names."""
        return term in self.named or not self.is_word(term)

    def counting(self, asked: Iterable[str], said: Container[str]) -> list[str]:
        """Those of the terms asked for that count beside the terms said."""
        asked = list(asked)
        counted = set(self.numbers if any(one in said for one in self.beside) else ())
        if any(map(self.is_word, asked)):
            said_so = (one for one in self.distances if all(term in said for term in one))
            counted.update(*(self.units & one for one in said_so))
        return [term for term in asked if term in counted or self.is_word(term)]


def dated(question: str, spans: Sequence[Span]) -> Dated:
    """The terms of the times that a question names, without those it also has elsewhere."""
    if not spans:
        return Dated()
    numbers, named, beside = set[str](), set[str](), set[str]()
    distances, rest = list[frozenset[str]](), question
    for span in spans:
        by_name = [one for one in span.words.split() if _pattern("by_name").search(same_length(one))]
        said = frozenset(terms(" ".join(by_name), like=question))
        is_calendar = is_by_calendar(span.words)
        numbers |= {one for one in said if one.isdigit() and (is_calendar or len(one) < 4)}
        named |= said
        distances.append(frozenset(terms(span.words, like=question)) - said)
        if is_calendar:
            months = terms(" ".join(filter(is_by_calendar, by_name)), like=question)
            beside.update(one for one in months if not one.isdigit())
            if span.end - span.start <= 31 * DAY:
                middle = datetime.fromtimestamp((span.start + span.end) / 2, UTC)
                beside.add(stem(MONTHS[middle.month - 1]))
        rest = rest.replace(span.words, " ", 1)
    elsewhere = frozenset(terms(rest, like=question))
    past = _LISTS["past"].get(language_of(question), "").split()
    plain = {one: same_length(one) for one in rest.split()}
    talk = [
        one
        for one in plain
        if _pattern("talk_word").fullmatch(plain[one]) or plain[one].strip(".,;:?!") in past
    ]
    return Dated(
        numbers=frozenset(numbers - elsewhere),
        beside=frozenset(beside),
        named=frozenset(named - numbers - elsewhere),
        units=frozenset[str]().union(*distances) - named - elsewhere,
        distances=tuple(one for one in dict.fromkeys(distances) if one),
        talk=frozenset(terms(" ".join(talk), like=question)),
        is_past=bool(talk),
    )
