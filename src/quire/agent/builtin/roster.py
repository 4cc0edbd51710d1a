"""Who works for a conversation, on its record: so they are found again by whoever opens it later.

Each who is started is an entry of a transcript of its own, which no model sees; who is stopped is hidden.
"""

from typing import NamedTuple

from quire.agent.builtin.roles import Role
from quire.errors import InvalidValue
from quire.items import Handoff, Hide, Item, Span
from quire.session import Session
from quire.state import Transcript, View

CREW = "crew"
"""The transcript of sub-agents, which no model sees."""

_ROLE, _NUMBER = "role", "number"


class Entry(NamedTuple):
    """One who was started: the id of its entry, its name, and the name of its role."""

    id: str
    name: str
    role: str


def at_work(session: Session) -> list[Entry]:
    """Those who were started for a conversation and not stopped, in their order."""
    return [entry for entry in map(_read, _view(session)) if entry is not None]


def known(session: Session, name: str) -> Entry | None:
    """One who was started, also where it was stopped since."""
    if CREW not in session.transcripts:
        return None
    found = (entry for entry in map(_read, reversed(session.view(CREW).recorded())) if entry is not None)
    return next((entry for entry in found if entry.name == name), None)


async def enter(session: Session, name: str, role: Role, number: int) -> Entry:
    """Put on the record that one is started, with the number in its name."""
    [kept] = await session.aio.append(Handoff(name, extras={_ROLE: role.name, _NUMBER: number}), to=CREW)
    return Entry(kept.id, name, role.name)


async def take_off(session: Session, entry: Entry) -> None:
    """Put on the record that one is stopped, unless another did."""
    if any(item.id == entry.id for item in _view(session)):
        await session.aio.append(Hide((Span(entry.id, entry.id),)), to=CREW)


def last_number(session: Session) -> int:
    """The number of the one that was started last; of the first it is 1."""
    view = _view(session)
    for position in range(view.revision - 1, -1, -1):
        item = view.log.item(position)
        if isinstance(item, Handoff):
            number = item.extras.get(_NUMBER)
            return number if isinstance(number, int) else 0
    return 0


def begun(session: Session, name: str, role: Role) -> Session:
    """The conversation of one that is started now; `InvalidValue` where there is one of that name."""
    if role.sees == "brief":
        child = session.child(name)
        if child.version:
            raise InvalidValue(f"there is a conversation {child.place} already")
        return child
    return session.fork(name, turns=None if role.sees == "all" else role.sees)


def reopened(session: Session, name: str, role: Role) -> Session:
    """The conversation of one that was started before; begun now, where nothing came of that."""
    child = session.child(name)
    return child if child.version else begun(session, name, role)


def _view(session: Session) -> View:
    return session.view(CREW) if CREW in session.transcripts else Transcript().view


def _read(item: Item) -> Entry | None:
    """Of one that was forgotten nobody knows the role."""
    if not isinstance(item, Handoff):
        return None
    role = item.extras.get(_ROLE)
    return Entry(item.id, item.to_agent, role) if isinstance(role, str) else None
