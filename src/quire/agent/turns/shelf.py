"""Where what turns give is kept: in a session, or beside any, in a pool and a window."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol, cast

from quire.agent.tools.gathering import given_now
from quire.agent.turns.saving import mapping_at, read_notes, written_notes
from quire.items import Note
from quire.session import Session
from quire.state import Pool
from quire.tokens import whole

WINDOW = 10
"""Notes without a key that a shelf keeps, unless it is given a window."""


class Keeps(Protocol):
    """Keeps of a value what belongs there, and shows tools what is kept."""

    @property
    def session(self) -> Session | None: ...
    @property
    def pool(self) -> Pool | None: ...
    async def keep(self, value: Any) -> None: ...
    def branch(self, name: str) -> "Keeps": ...


class Shelf:
    """Notes of nobody's conversation: those with a key in a pool, the newest of the others in a window."""

    session = None

    def __init__(self, pool: Pool | None = None, window: deque[Note] | None = None) -> None:
        self._pool = Pool() if pool is None else pool
        self.window: deque[Note] = deque(maxlen=WINDOW) if window is None else window

    @property
    def pool(self) -> Pool:
        """The notes with a key."""
        return self._pool

    async def keep(self, value: Any) -> None:
        """Keep the notes in a value."""
        for note in notes_in(value):
            if note.key is None:
                self.window.append(note)
            else:
                self._pool.add(note)

    def branch(self, name: str = "") -> "Shelf":
        """A shelf with the same notes that goes its own way."""
        return Shelf(self._pool.fork(), self.window.copy())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {
            "pool": {"limit": self._pool.limit, "notes": written_notes(self._pool)},
            "window": {"limit": self.window.maxlen, "notes": written_notes(self.window)},
        }

    @classmethod
    def from_dict(cls, data: object) -> "Shelf":
        """The shelf that was written as these values."""
        fields = mapping_at(data, "$.kept")
        pool = mapping_at(fields.get("pool"), "$.kept.pool")
        window = mapping_at(fields.get("window"), "$.kept.window")
        kept = read_notes(pool.get("notes"), "$.kept.pool.notes")
        recent = read_notes(window.get("notes"), "$.kept.window.notes")
        limit = whole(window.get("limit"), "$.kept.window.limit", least=1)
        return cls(Pool.restored(kept, limit=pool.get("limit")), deque(recent, maxlen=limit))


class InSession:
    """Notes of a conversation: those with a key in its pool, others in its transcript."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def pool(self) -> Pool:
        """The notes with a key: a copy."""
        return self.session.pool.copy()

    async def keep(self, value: Any) -> None:
        """Keep the notes in a value; each is on the record when this returns."""
        for note in notes_in(value):
            if note.key is None:
                await self.session.aio.append(given_now(note))
            else:
                await self.session.aio.pool.keep(note)

    def branch(self, name: str) -> "InSession":
        """The same in a fork of the conversation."""
        return InSession(self.session.fork(name))


def notes_in(value: Any) -> Iterator[Note]:
    """A value that is a note, or the notes of a list."""
    for one in each_of(value):
        if isinstance(one, Note):
            yield one


def each_of(value: Any) -> list[Any]:
    """The values of a list, or the one value."""
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]
