"""Small tools: the time, and a question to the user."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quire.agent.tools import Tool, tool
from quire.errors import InvalidValue, cut
from quire.items import now


@tool(asks_person=True)
def ask_user(question: str) -> str:
    """Ask the user a question and wait for the answer.

    Use it only if you cannot continue without something that only the user knows or decides.

    Args:
        question: The question, complete in itself.
    """
    raise AssertionError("the user answers; the function is not run")


def current_time(zone: str = "UTC") -> str:
    """Tell the current date and time, with the weekday and the offset from UTC.

    Args:
        zone: "UTC", "local" for the clock of the machine, or an IANA zone such as "Europe/Berlin".
    """
    name, moment = zone.strip(), datetime.fromtimestamp(now(), UTC)
    if name.casefold() == "utc":
        return _format_time(moment, "UTC")
    if name.casefold() == "local":
        return _format_time(moment.astimezone(), "local time")
    return _format_time(moment.astimezone(_zone(name)), name)


def time_tools() -> list[Tool]:
    """The tool that tells the time."""
    return [tool(current_time, idempotent=True)]


def _format_time(moment: datetime, where: str) -> str:
    return f"{moment:%A}, {moment.isoformat(timespec='seconds')} ({where})"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a zone is also a file name
        raise InvalidValue(
            f"no time zone is called {cut(name)!r}: zones must be of IANA, such as Europe/Berlin"
        ) from None
