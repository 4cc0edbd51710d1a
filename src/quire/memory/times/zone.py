"""Whose days they are: what a clock on the wall of a zone shows, and the time at which it shows it.

All times are UTC epoch seconds. What the clock shows is told as if it were one, so that a day of any zone
begins where one of UTC does, and whoever reads times in words needs to know no zone.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from quire.errors import InvalidValue, WrongType, cut

_START = datetime(1970, 1, 1)
_BEYOND = (ValueError, OverflowError, OSError)
"""What there is where no calendar has a day."""


def zone_of(zone: str | tzinfo) -> tzinfo:
    """A zone by its name in the database of time zones, or as it is given."""
    if isinstance(zone, str):
        return _named(zone)
    if not isinstance(zone, tzinfo):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a zone is a name or a datetime.tzinfo, not {type(zone).__name__}")
    try:
        is_zone = datetime(2000, 1, 1, tzinfo=zone).utcoffset() is not None
    except NotImplementedError:
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


def shown_at(at: float, zone: tzinfo) -> float:
    """What the clock of a zone shows at a time."""
    if zone is UTC:
        return at
    try:
        return at + _seconds(datetime.fromtimestamp(at, zone).utcoffset())
    except _BEYOND:
        return at


def time_of_clock(shown: float, zone: tzinfo, *, is_end: bool = False) -> float:
    """When the clock of a zone shows something: the first time, or for an end the last.

    Where it is put back it shows an hour twice, and a stretch of time has both.
    """
    if zone is UTC:
        return shown
    try:
        clock = (_START + timedelta(seconds=shown)).replace(tzinfo=zone, fold=int(is_end))
        return shown - _seconds(clock.utcoffset())
    except _BEYOND:
        return shown


def _seconds(offset: timedelta | None) -> float:
    return 0.0 if offset is None else offset.total_seconds()
