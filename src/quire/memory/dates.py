"""Days, weeks, months and years of a time zone, as spans of UTC epoch seconds."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from quire.errors import InvalidValue, WrongType, cut

DAY = 86_400.0
HOUR = 3_600.0
_UNREPRESENTABLE = (ValueError, OverflowError, OSError)


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
