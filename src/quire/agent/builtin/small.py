"""Small tools: the time, and a question to the user."""

import zoneinfo
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from functools import cache

from quire.agent.tools import Tool, tool
from quire.errors import InvalidValue, cut
from quire.items import now

_MOST_SUGGESTED = 5


@tool(asks_person=True)
def ask_user(question: str) -> str:
    """Ask the user a question and wait for the answer.

    Use it only where you cannot go on without something that the user alone knows or decides.

    Args:
        question: The question, in words that can be answered without reading anything else.
    """
    raise AssertionError("the user answers; the function is not run")


def current_time(zone: str = "UTC") -> str:
    """Tell the date and the time of now, with the weekday and the offset from UTC.

    Args:
        zone: "UTC", "local" for the clock of the machine, or an IANA zone such as "Europe/Berlin".
    """
    name = zone.strip()
    if name.casefold() in ("utc", "local"):
        moment = datetime.fromtimestamp(now(), UTC)
        return (
            _written(moment, "UTC")
            if name.casefold() == "utc"
            else _written(moment.astimezone(), "local time")
        )
    return _written(datetime.fromtimestamp(now(), _zone(name)), name)


def time_tools() -> list[Tool]:
    """The tool that tells the time."""
    return [tool(current_time, idempotent=True)]


def _written(moment: datetime, where: str) -> str:
    return f"{moment:%A}, {moment.isoformat(timespec='seconds')} ({where})"


def _zone(name: str) -> tzinfo:
    if name not in _zones():  # the name is also the path of a file, and could lead to another one
        raise InvalidValue(f"no time zone is called {cut(name)!r}{_suggestion(name)}")
    return zoneinfo.ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _suggestion(name: str) -> str:
    """Zones with a name or a city like this."""
    wanted = cut(name).strip().replace(" ", "_").casefold()
    by_name = {zone.casefold(): zone for zone in sorted(_zones())}
    by_city = {folded.rpartition("/")[2]: zone for folded, zone in by_name.items()}
    near = [
        *(table[one] for table in (by_name, by_city) for one in table if one == wanted),
        *(table[one] for table in (by_name, by_city) for one in get_close_matches(wanted, table)),
    ]
    if not near:
        return "; zones are named as in the IANA table, such as Europe/Berlin"
    return f"; did you mean {', '.join([*dict.fromkeys(near)][:_MOST_SUGGESTED])}?"
