"""What time it is, for a model: in UTC, where this process runs, or in any zone of the IANA table."""

import zoneinfo
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from functools import cache

from quire.agent.tools import Tool, tool
from quire.errors import InvalidValue, cut
from quire.items import now

_LOCAL = "local"
_MOST_SUGGESTED = 5


def current_time(zone: str = "UTC") -> str:
    """Tell the date and the time of now, with the weekday and the offset from UTC.

    Args:
        zone: "UTC", "local" for the clock of the machine, or an IANA zone such as "Europe/Berlin".
    """
    asked = zone.strip()
    if asked.casefold() == _LOCAL:
        return _told(_moment(UTC).astimezone(), "local time")
    if asked.casefold() == "utc":
        return _told(_moment(UTC), "UTC")
    return _told(_moment(_zone(asked)), asked)


def time_tools() -> list[Tool]:
    """The tool that tells the time, ready for an agent."""
    return [tool(current_time, idempotent=True)]


def _told(moment: datetime, where: str) -> str:
    return f"{moment:%A}, {moment.isoformat(timespec='seconds')} ({where})"


def _moment(zone: tzinfo) -> datetime:
    at = now()
    try:
        return datetime.fromtimestamp(at, zone)
    except (ValueError, OverflowError, OSError):
        raise InvalidValue("the clock gave a time that no calendar has") from None


def _zone(name: str) -> tzinfo:
    # Only names of the table: a name is also the path of a file, and could lead to another one.
    if name not in _names():
        raise InvalidValue(f"no time zone is called {cut(name)!r}{_suggestion(name)}")
    return zoneinfo.ZoneInfo(name)


@cache
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _suggestion(name: str) -> str:
    wanted = cut(name).strip().replace(" ", "_").casefold()
    by_folded = {known.casefold(): known for known in sorted(_names())}
    cities = {folded.rpartition("/")[2]: known for folded, known in by_folded.items()}
    near = [
        *(known for folded, known in by_folded.items() if folded == wanted),
        *(known for folded, known in by_folded.items() if folded.rpartition("/")[2] == wanted),
        *(by_folded[one] for one in get_close_matches(wanted, by_folded, n=_MOST_SUGGESTED)),
        *(cities[one] for one in get_close_matches(wanted, cities, n=_MOST_SUGGESTED)),
    ]
    found = list(dict.fromkeys(near))[:_MOST_SUGGESTED]
    if not found:
        return "; zones are named as in the IANA table, such as Europe/Berlin"
    return f"; did you mean {', '.join(found)}?"
