"""Stretches that are named by both their ends at once: days of a month, months, years."""

import re
from datetime import date

from quire.memory.times import names
from quire.memory.times.calendar_dates import (
    DAY_OF_MONTH,
    ENDS,
    ITS_YEAR,
    MONTH,
    OF,
    PARTS,
    YEAR,
    Asked,
    Reader,
    day_named,
    is_dated,
    its_year,
)
from quire.memory.times.span import Period, days, latest_year, months, year

_FIRST_DAY = DAY_OF_MONTH.replace("day", "first")
_LAST_MONTH = MONTH.replace("month", "last")
_UNTIL = YEAR.replace("year", "until")
_ITS_UNTIL = ITS_YEAR.replace("<year>", "<until>")
_OPENS = r"(?:between|from|zwischen|entre)\s+"
_TO = rf"(?:and|und|et|y|{names.TO})"
_OPENS_DAYS = rf"(?:(?P<opens>between|from|zwischen|entre|vom|von|du|del){names.THE}\s+)?"
_TO_DAY = rf"(?:\s*[-\u2013]{names.THE}\s*|\s+(?:(?P<and>and|und|et|y)|{names.TO}){names.THE}\s+)"
_ANY_MONTH = rf"(?:{names.either(names.MONTH_NUMBERS)})\b"
_NO_MONTH = rf"(?!\s+(?:{OF})?{_ANY_MONTH})"
_MONTHS = re.compile(rf"\b{_ANY_MONTH}")
_IN = r"(?:in|during|throughout|im|en)\s+"
_EACH = r"(?:and|or|und|oder|et|ou|y|o)"
_OF_ANOTHER = re.compile(rf"\b{_ANY_MONTH}\.?$")


def _two_days(found: "re.Match[str]", asked: Asked) -> Period | None:
    """Two days with "and" between them, or the first of another month, are none where nothing opens one."""
    is_open = found["opens"] is not None
    if not is_open and (found["and"] or _OF_ANOTHER.search(asked.before(found.start()))):
        return None
    if not _is_of_days(found, asked):
        return None
    last, month, said = day_named(found, asked), names.MONTH_NUMBERS[found["month"]], found["year"]
    number = its_year(said, asked) if said else latest_year(asked.today, month, int(found["day"]))
    first = days(date(number, month, int(found["first"])), 1, 0.9)
    return None if first.start > last.start else last._replace(start=first.start)


def _is_of_days(found: "re.Match[str]", asked: Asked) -> bool:
    """Whether a word that may be a month is one: from 3 to 5 may be said of anything."""
    if found["year"] or found["month"] not in names.DOUBTFUL_MONTHS or is_dated(found, asked):
        return True
    if not found["opens"]:
        return False
    if found.start("month") < found.start("day") or asked.written[found.start("month")].isupper():
        return True
    return ENDS.match(asked.plain, found.end()) is not None


def _two_months(found: "re.Match[str]", asked: Asked) -> Period:
    first, last = names.MONTH_NUMBERS[found["month"]], names.MONTH_NUMBERS[found["last"]]
    opening, closing = _years(found, asked)
    sure = 0.9 if found["until"] else 0.6
    return months(opening, first, (closing - opening) * 12 + last - first + 1, sure)


def _years(found: "re.Match[str]", asked: Asked) -> tuple[int, int]:
    """Those of two months in a row: of one that is not said, the last that fits."""
    first, last = names.MONTH_NUMBERS[found["month"]], names.MONTH_NUMBERS[found["last"]]
    said, until = found["year"], found["until"]
    closing = its_year(until, asked) if until else latest_year(asked.today, last)
    return its_year(said, asked) if said else closing if first <= last else closing - 1, closing


def _each_month(found: "re.Match[str]", asked: Asked) -> Period:
    """Two months that follow each other are one stretch; of others the one is meant, or the other."""
    first, last = names.MONTH_NUMBERS[found["month"]], names.MONTH_NUMBERS[found["last"]]
    if last - first in (1, -11):
        return _two_months(found, asked)
    closing = its_year(found["until"], asked) if found["until"] else latest_year(asked.today, last)
    said = found["year"] or found["until"]
    opening = its_year(said, asked) if said else latest_year(asked.today, first)
    sure = 0.9 if said else 0.6
    return months(opening, first, 1, sure)._replace(other=months(closing, last, 1, sure))


def _listed_months(found: "re.Match[str]", asked: Asked) -> Period | None:
    """Of months in a list those that follow each other are one stretch, and each stretch may be meant."""
    until, meant = found["until"], None
    for first, last in reversed(_in_a_row([names.MONTH_NUMBERS[one] for one in _MONTHS.findall(found[0])])):
        closing = its_year(until, asked) if until else latest_year(asked.today, last)
        count = (last - first) % 12 + 1
        meant = months(closing, last - count + 1, count, 0.9 if until else 0.6)._replace(other=meant)
    return meant


def _in_a_row(numbers: list[int]) -> list[tuple[int, int]]:
    """The first and the last of each row of months; January follows December."""
    rows: list[tuple[int, int]] = []
    for number in numbers:
        if rows and number - rows[-1][1] in (1, -11):
            rows[-1] = rows[-1][0], number
        else:
            rows.append((number, number))
    return rows


def _months_dashed(found: "re.Match[str]", asked: Asked) -> Period | None:
    """Two months that nothing leads and that have no year may be people; parts of them are read elsewhere."""
    is_of_people = not (found["led"] or found["until"])
    if is_of_people or asked.before(found.start()).rstrip("-").endswith(PARTS):
        return None
    return _two_months(found, asked)


def _two_quarters(found: "re.Match[str]", asked: Asked) -> Period | None:
    first, last, number = int(found["quarter"]), int(found["last"]), its_year(found["year"], asked)
    if first >= last:
        return None
    if found["each"] and not found["opens"] and last - first > 1:
        other = months(number, 3 * last - 2, 3, 0.9)
        return months(number, 3 * first - 2, 3, 0.9)._replace(other=other)
    return months(number, 3 * first - 2, 3 * (last - first + 1), 0.9)


def _two_years(found: "re.Match[str]", asked: Asked) -> Period:
    return Period(year(int(found["year"]), 0.8).start, year(int(found["until"]), 0.8).end, 0.8)


_MONTHS_OF_YEARS = (
    rf"{MONTH}(?:,?\s+(?:{OF})?{ITS_YEAR})?\s+{{joined}}\s+{_LAST_MONTH}(?:,?\s+(?:{OF})?{_ITS_UNTIL})?"
)
STRETCHES: tuple[tuple[str, Reader], ...] = (
    (rf"\b{_OPENS}" + _MONTHS_OF_YEARS.replace("{joined}", _TO), _two_months),
    (rf"\b{_OPENS}{YEAR}\s+{_TO}\s+{_UNTIL}", _two_years),
    (
        rf"(?<![0-9/.:-])\b{_OPENS_DAYS}{_FIRST_DAY}{_TO_DAY}{DAY_OF_MONTH}\s+(?:{OF})?{MONTH}"
        rf"(?:,?\s+(?:{OF})?{ITS_YEAR})?",
        _two_days,
    ),
    (
        rf"\b{_OPENS_DAYS}{MONTH}\s+(?:the\s+)?{_FIRST_DAY}{_TO_DAY}{DAY_OF_MONTH}\b(?![:%]|[.,]?[0-9])"
        rf"{_NO_MONTH}(?:,?\s+(?:{OF})?{ITS_YEAR})?",
        _two_days,
    ),
    (
        rf"\b{_IN}" + _MONTHS_OF_YEARS.replace("{joined}", rf"{_EACH}(?:\s+(?:in|im|en))?") + r"(?!\s*[0-9])",
        _each_month,
    ),
    (
        rf"\b{_IN}{_ANY_MONTH}\.?(?:\s*,\s*{_ANY_MONTH}\.?)+,?\s+{_EACH}\s+{_ANY_MONTH}\.?"
        rf"(?:,?\s+(?:{OF})?{_ITS_UNTIL})?(?!\s*[0-9])",
        _listed_months,
    ),
    (
        rf"\b(?P<led>{_IN}|from\s+)?{MONTH}(?:,?\s+{ITS_YEAR})?\s*[-\u2013]\s*{_LAST_MONTH}"
        rf"(?:,?\s+(?:{OF})?{_ITS_UNTIL})?(?!\s*[0-9])",
        _months_dashed,
    ),
    (
        rf"\b(?P<opens>{_OPENS})?q(?P<quarter>[1-4])(?:\s*[-\u2013]\s*|\s+(?:(?P<each>{_EACH})|{names.TO})\s+)"
        rf"q(?P<last>[1-4]),?\s+(?:{OF})?{ITS_YEAR}",
        _two_quarters,
    ),
)
