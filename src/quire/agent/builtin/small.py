"""Small tools: the time, and a question to the user."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quire.agent.tools import Tool, tool
from quire.errors import InvalidValue, cut
from quire.items import now


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
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # it is the name of a file, too
        raise InvalidValue(
            f"no time zone is called {cut(name)!r}: zones are those of IANA, such as Europe/Berlin"
        ) from None
