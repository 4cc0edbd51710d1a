"""The session in which a task is at work here: tools that are asked meanwhile default to it."""

from contextvars import ContextVar

_session: ContextVar[str | None] = ContextVar("quire_loom_session", default=None)


def current_session_id() -> str | None:
    """The session of the task whose context was built last, in this task or thread, if it has one."""
    return _session.get()


def set_current_session_id(session_id: str | None) -> None:
    """From now on a task of this session is at work here."""
    _session.set(session_id)
