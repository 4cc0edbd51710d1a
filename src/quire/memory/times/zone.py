"""Whose days they are: what a clock on the wall of a zone shows, and the time at which it shows it.

All times are UTC epoch seconds. What the clock shows is told as if it were one, so that a day of any zone
begins where one of UTC does, and whoever reads times in words needs to know no zone.
"""

from bisect import bisect_left
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from quire.errors import InvalidValue, WrongType, cut
from quire.memory.times.span import DAY

_SOME_TIME = 946_684_800
_BEYOND = (ValueError, OverflowError, OSError)
"""What there is where no calendar has a day."""


class Shown(float):
    """What the clock of a zone shows at a time, and that time: where it is put back, it shows the same twice.

    What is reckoned with it as with a number is by the clock again.
    """

    __slots__ = ("at", "zone")
    at: float
    zone: tzinfo

    def __new__(cls, at: float, zone: tzinfo) -> "Shown":
        shown = super().__new__(cls, at + _offset(at, zone))
        shown.at, shown.zone = at, zone
        return shown

    def back(self, seconds: float) -> "Shown":
        """What it showed some time before: an hour is one, whatever is done to the clock in it."""
        return Shown(self.at - seconds, self.zone)


def zone_of(zone: str | tzinfo) -> tzinfo:
    """A zone by its name in the database of time zones, or as it is given."""
    if isinstance(zone, str):
        return _named(zone)
    if not isinstance(zone, tzinfo):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a zone is a name or a datetime.tzinfo, not {type(zone).__name__}")
    try:
        is_zone = datetime.fromtimestamp(_SOME_TIME, zone).utcoffset() is not None
    except (NotImplementedError, ValueError):
        is_zone = False
    if not is_zone:
        raise InvalidValue(f"{type(zone).__name__} does not say how far its zone is from UTC")
    return zone


def _named(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as fault:
        raise InvalidValue(
            f"there is no zone {cut(name)!r}: its name is one such as 'Europe/Paris',"
            " and where the system knows none, `pip install tzdata`"
        ) from fault


def shown_at(at: float, zone: tzinfo) -> Shown:
    """What the clock of a zone shows at a time."""
    return Shown(at, zone)


def is_in_order(first: float, last: float) -> bool:
    """Whether one is no later than another: by the time where that of both is known, else by the clock."""
    if isinstance(first, Shown) and isinstance(last, Shown):
        return first.at <= last.at
    return first <= last


def time_of_clock(shown: float, zone: tzinfo) -> float:
    """When the clock of a zone shows something: the first time from which it shows nothing earlier any more.

    So a day ends where the next begins. Where the clock is put forward past it, it is when that is done. It
    is found by what the clock shows at a time alone: not every zone can be asked the other way round.
    """
    if isinstance(shown, Shown):
        return shown.at
    offset, later = _offset(shown - DAY, zone), _offset(shown + DAY, zone)
    if offset == later:
        return shown - offset
    if later > offset:
        return _put_forward(shown, shown - later, shown - offset, zone)
    is_put_back_before = _offset(shown - later - 1, zone) == later
    return shown - (later if is_put_back_before else offset)


def _put_forward(shown: float, earliest: float, latest: float, zone: tzinfo) -> float:
    """The time in a stretch within which the clock is put forward."""
    for at in (latest, earliest):
        if Shown(at, zone) == shown:
            return at
    seconds = range(int(earliest // 1), int(latest // 1) + 2)
    return float(seconds[bisect_left(seconds, shown, key=lambda at: Shown(at, zone))])


def _offset(at: float, zone: tzinfo) -> float:
    """How far the clock of a zone is from that of UTC, in seconds."""
    if zone is UTC:
        return 0.0
    try:
        offset = datetime.fromtimestamp(at, zone).utcoffset()
    except _BEYOND:
        return 0.0
    return 0.0 if offset is None else offset.total_seconds()
