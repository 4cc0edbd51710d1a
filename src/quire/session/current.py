"""The session that is at work here: one per task or thread, set by `async with` and `with`."""

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from quire.errors import UnknownKey

if TYPE_CHECKING:
    from quire.session.session import Session

_current: ContextVar["Session"] = ContextVar("quire_session")


def current_session() -> "Session":
    """The session at work; `UnknownKey` where there is none."""
    try:
        return _current.get()
    except LookupError:
        raise UnknownKey("no session is at work here: enter one with `with` or `async with`") from None


def enter(session: "Session") -> "Token[Session]":
    """Set the session that is at work."""
    return _current.set(session)


def leave(token: "Token[Session]") -> None:
    """Go back to the one before it."""
    _current.reset(token)
