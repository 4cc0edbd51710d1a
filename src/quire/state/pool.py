"""The pool: notes kept at hand by key, bounded, the oldest giving way."""

from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum

from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import Note
from quire.tokens import whole


class Inherit(Enum):
    """Stands for a limit that is not given, because `None` means unbounded."""

    LIMIT = "the limit of the parent"


class Pool:
    """Notes by key.

    A new key at capacity puts the oldest note out; an old key replaces its note in its place.
    """

    __slots__ = ("_limit", "_notes")

    def __init__(self, notes: Iterable[Note] = (), *, limit: int | None = None) -> None:
        self._limit = checked_limit(limit)
        # A plain dictionary looks for its first key past all that were deleted before it.
        self._notes: OrderedDict[str, Note] = OrderedDict()
        if not isinstance(notes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a pool takes several notes, not {type(notes).__name__}")
        for note in notes:
            self.add(note)

    @classmethod
    def restored(cls, notes: Iterable[Note], *, limit: int | None = None) -> "Pool":
        """A pool with all of these notes, also where they are more than the limit: it grows no further."""
        pool = cls(notes)
        pool._limit = checked_limit(limit)
        return pool

    @property
    def limit(self) -> int | None:
        """How many notes there may be; `None` means any number."""
        return self._limit

    def __len__(self) -> int:
        return len(self._notes)

    def __iter__(self) -> Iterator[Note]:
        return iter(tuple(self._notes.values()))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._notes

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} notes, limit {self._limit}>"

    def add(self, note: Note) -> Note | None:
        """Keep a note, and give back the one that had to go."""
        evicted = self.evicted_by(note)
        if evicted is not None:
            del self._notes[_key_of(evicted)]
        self._notes[_key_of(note)] = note
        return evicted

    @contextmanager
    def adding(self, note: Note) -> Generator[Note | None, None, None]:
        """Make room for a note on entering, keep it on leaving; an error in between undoes that.

        Others may change the pool in between: what they took in stays, and the pool is never too full.
        """
        evicted, before, most = self.evicted_by(note), self._notes, len(self._notes)
        if evicted is not None:
            del self._notes[_key_of(evicted)]
        try:
            yield evicted
        except BaseException:  # a task that is cancelled has changed nothing either
            was_cleared = self._notes is not before
            if evicted is not None and not was_cleared and len(self._notes) < most:
                self._put_back(evicted)
            raise
        if len(self._notes) < most:  # the room is still there; `add` would make it again
            self._notes[_key_of(note)] = note
        else:
            self.add(note)

    def _put_back(self, note: Note) -> None:
        if note.key not in self._notes:
            self._notes[_key_of(note)] = note
            self._notes.move_to_end(_key_of(note), last=False)

    def evicted_by(self, note: Note) -> Note | None:
        """The note that would have to go for this one."""
        is_new = _key_of(note) not in self._notes
        full = self._limit is not None and len(self._notes) >= self._limit
        return next(iter(self._notes.values())) if full and is_new else None

    def get(self, key: str) -> Note:
        """The note with this key."""
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a key is a text, not {type(key).__name__}")
        if key not in self._notes:
            raise UnknownKey(f"no note {cut(key)!r} in the pool")
        return self._notes[key]

    def remove(self, key: str) -> Note:
        """Take a note out."""
        note = self.get(key)
        del self._notes[key]
        return note

    def clear(self) -> list[Note]:
        """Take all notes out."""
        notes, self._notes = self._notes, OrderedDict()
        return list(notes.values())

    def catalogue(self) -> str:
        """One line per note, key and description: what a reader needs to choose by."""
        return "\n".join(
            f"- [{_line(key)}] {_line(note.description)}".rstrip() for key, note in self._notes.items()
        )

    def fork(self, limit: int | Inherit | None = Inherit.LIMIT) -> "Pool":
        """A pool with the same notes that goes its own way; a smaller limit keeps the newest."""
        child = Pool(limit=self._limit if isinstance(limit, Inherit) else limit)
        child._notes = self._notes.copy()
        while not isinstance(limit, Inherit | None) and len(child._notes) > limit:
            child._notes.popitem(last=False)
        return child


def checked_limit(limit: int | None) -> int | None:
    """A limit that can be kept; `None` is one."""
    return limit if limit is None else whole(limit, "a limit", least=1)


def _line(text: str | None) -> str:
    """A text on one line, so that it cannot pass for another entry."""
    return " ".join((text or "").split())


def _key_of(note: Note) -> str:
    if not isinstance(note, Note):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a pool takes notes, not {type(note).__name__}")
    if note.key is None:
        raise InvalidValue("a note needs a key to be kept in a pool")
    return note.key
