"""The session that is at work here: one per task or thread, set by `async with` and `with`."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

from quire.errors import UnknownKey

if TYPE_CHECKING:
    from quire.session.session import Session

_at_work: ContextVar[tuple["Session", ...]] = ContextVar("quire_sessions", default=())


def current_session() -> "Session":
    """The session at work; `UnknownKey` where there is none."""
    sessions = _at_work.get()
    if not sessions:
        raise UnknownKey("no session is at work here: enter one with `with` or `async with`")
    return sessions[-1]


def enter(session: "Session") -> None:
    """Set the session that is at work."""
    _at_work.set((*_at_work.get(), session))


def leave(session: "Session") -> None:
    """Go back to the one before it."""
    sessions = list(_at_work.get())
    for index in reversed(range(len(sessions))):
        if sessions[index] is session:
            del sessions[index]
            break
    _at_work.set(tuple(sessions))
