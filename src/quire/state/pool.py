"""The pool: a bounded set of notes by key."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from enum import Enum

from quire.errors import InvalidValue, UnknownKey, cut
from quire.items import Note, escape, one_line
from quire.tokens import whole


class Inherit(Enum):
    """The default of the limit of a forked pool. A number or `None` (unbounded) replaces it."""

    LIMIT = "the limit of the parent"


class Pool:
    """Notes by key.

    A new key at capacity evicts the oldest note; a known key replaces its note in place.
    """

    __slots__ = ("_limit", "_notes")

    def __init__(self, notes: Iterable[Note] = (), *, limit: int | None = None) -> None:
        self._limit = limit if limit is None else whole(limit, "a limit", least=1)
        # A plain dictionary gets slow at finding its first key after many deletions.
        self._notes: OrderedDict[str, Note] = OrderedDict()
        for note in notes:
            self.add(note)

    @classmethod
    def restored(cls, notes: Iterable[Note], *, limit: int | None = None) -> "Pool":
        """A pool with all of these notes, even if they exceed the limit."""
        pool = cls(limit=limit)
        pool._notes.update((_key_of(note), note) for note in notes)
        return pool

    @property
    def limit(self) -> int | None:
        """The most notes; `None` means unbounded."""
        return self._limit

    def __len__(self) -> int:
        return len(self._notes)

    def __iter__(self) -> Iterator[Note]:
        return iter(tuple(self._notes.values()))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._notes

    def add(self, note: Note) -> Note | None:
        """Add a note, and return the one that it evicts."""
        evicted = self.evicted_by(note)
        if evicted is not None:
            del self._notes[_key_of(evicted)]
        self._notes[_key_of(note)] = note
        return evicted

    def evicted_by(self, note: Note) -> Note | None:
        """The note that adding this one would evict."""
        is_new = _key_of(note) not in self._notes
        is_full = self._limit is not None and len(self._notes) >= self._limit
        return next(iter(self._notes.values())) if is_full and is_new else None

    def get(self, key: str) -> Note:
        """The note with this key."""
        if key not in self._notes:
            raise UnknownKey(f"no note {cut(str(key))!r} in the pool")
        return self._notes[key]

    def remove(self, key: str) -> Note:
        """Remove a note."""
        note = self.get(key)
        del self._notes[key]
        return note

    def clear(self) -> list[Note]:
        """Remove and return all notes."""
        notes, self._notes = self._notes, OrderedDict()
        return list(notes.values())

    def catalogue(self) -> str:
        """A list of all notes for a model to choose from: a line per note, with its key and description."""
        lines: list[str] = []
        for key, note in self._notes.items():
            description = " ".join((note.description or "").split())  # one line imitates no other entry
            lines.append(f"- [{one_line(key).replace(']', ')')}] {escape(description)}".rstrip())
        return "\n".join(lines)

    def fork(self, limit: int | Inherit | None = Inherit.LIMIT) -> "Pool":
        """An independent pool with the same notes; a smaller limit keeps the newest."""
        child = Pool(limit=self._limit if isinstance(limit, Inherit) else limit)
        child._notes = self._notes.copy()
        while not isinstance(limit, Inherit | None) and len(child._notes) > limit:
            child._notes.popitem(last=False)
        return child


def _key_of(note: Note) -> str:
    if note.key is None:
        raise InvalidValue("a note needs a key to be kept in a pool")
    return note.key
