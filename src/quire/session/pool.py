"""The pool of a session: notes by key. Each change is recorded, and heard by hooks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from quire.compactors import HANDLE, HANDLE_DIGITS
from quire.errors import InvalidValue, UnknownKey, WrongType
from quire.items import Hide, Item, Mask, Note, Span, ToolResult
from quire.session.aio import AWAITED, INLINE, IO, MOST_ROUNDS, Change, Writer, run
from quire.session.hooks import (
    Added,
    Adding,
    Cleared,
    Clearing,
    Event,
    Evicted,
    Evicting,
    Removed,
    Removing,
)
from quire.session.state import State, Written
from quire.state import Pool
from quire.stores import Place
from quire.stores.streams import POOL
from quire.tokens import whole

FEW_ROUNDS = 10
"""How often the change of a single note is decided again because others wrote meanwhile."""

PLAIN_HANDLE = re.compile(rf"\b{HANDLE}[0-9a-f]{{{HANDLE_DIGITS}}}(?!\w|-(?!\d))")
"""The handle of a long output; the keys of its notes begin with it."""

_KEY = re.compile(rf"({PLAIN_HANDLE.pattern})(?:-\d+)?")


def handle_of(note: Note) -> str | None:
    """The handle of a note that holds a long output, or a part of one."""
    found = _KEY.fullmatch(note.key or "")
    return None if found is None else found[1]


def handles_named(items: Iterable[Item]) -> set[str]:
    """The handles that results, and stubs in their place, name."""
    texts = (item.stub if isinstance(item, Mask) else item.text for item in items if _may_name(item))  # type: ignore[union-attr]
    return {handle for text in texts for handle in PLAIN_HANDLE.findall(text)}


def _may_name(item: Item) -> bool:
    return isinstance(item, Mask | ToolResult)


class SessionPool:
    """The notes at hand, by key.

    A note that comes when the pool is full evicts the oldest. Long outputs of tools, which a model may read
    back by their handles, are outside the limit.
    """

    def __init__(self, writer: Writer, limit: int | None) -> None:
        self._writer = writer
        self.limit = limit if limit is None else whole(limit, "a limit", least=1)

    def copy(self) -> Pool:
        """The notes as they are now; changes of the copy change nothing here."""
        self._writer.log.check_known()
        return self._writer.log.look(lambda state: state.pool.fork())

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> Iterator[Note]:
        return iter(self.copy())

    def __contains__(self, key: object) -> bool:
        return key in self.copy()

    def __getitem__(self, key: str) -> Note:
        return self.copy().get(key)

    def __repr__(self) -> str:
        return f"<SessionPool of {len(self)} notes>"

    def catalogue(self) -> str:
        """One line per note with its key and description."""
        return self.copy().catalogue()

    def keep(self, note: Note) -> Note:
        """Put a note into the pool; it replaces one with the same key."""
        return run(self.keep_all(INLINE, [note]))[0]

    def drop(self, key: str) -> Note:
        """Drop a note, and return it."""
        return run(self.dropped(INLINE, key))

    def clear(self) -> list[Note]:
        """Drop all notes, and return them. What is kept while hooks hear of it stays."""
        return run(self.cleared(INLINE))

    async def keep_all(
        self,
        io: IO,
        notes: Sequence[Note],
        asking: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> list[Note]:
        """The body of `keep`, for several notes: all or none. `asking` is entered while hooks are asked."""
        ready = self.ready(notes)
        await self._writer.make(io, partial(self.keeping, ready), asking=asking)
        return ready

    def ready(self, notes: Iterable[Note]) -> list[Note]:
        """Notes as they may be kept: checked, and redacted."""
        given = list(notes)
        for note in given:
            if not isinstance(note, Note):
                raise WrongType(f"a pool keeps notes, not {type(note).__name__}")
            if note.key is None:
                raise InvalidValue("a note needs a key to be kept in a pool")
        return [note for note in self._writer.ready(given) if isinstance(note, Note)]

    def keeping(self, notes: Sequence[Note], state: State) -> Change:
        """The change that keeps notes, one after the other, with the evictions it takes."""
        pool = state.pool if self.limit is None else state.pool.fork()
        change = Change([], [], [])
        for note in notes:
            if not state.is_gone(note):
                leaving = [] if self.limit is None else put_into(pool, note, self.limit)
                change = _joined(change, _kept(self._writer.place, note, leaving))
        return change

    async def dropped(self, io: IO, key: str) -> Note:
        """The body of `drop`."""
        place, log = self._writer.place, self._writer.log
        note: Note | None = None

        def dropping(state: State) -> Change:
            nonlocal note
            if key not in state.pool and note is None:
                log.catch_up()  # another may have kept it
            note = log.state.pool.get(key)
            return Change([dropped(note)], [Removing(place, note)], [Removed(place, note)])

        await self._writer.make(io, dropping, FEW_ROUNDS)
        if note is None:
            raise UnknownKey("no note was dropped")
        return note

    async def cleared(self, io: IO) -> list[Note]:
        """The body of `clear`."""
        place, log = self._writer.place, self._writer.log
        heard: dict[str, Note] | None = None
        left: list[Note] = []

        def clearing(state: State) -> Change:
            nonlocal heard, left
            if heard is None:
                log.catch_up()
                heard = {note.id: note for note in log.state.pool}
            left = [note for note in log.state.pool if heard.get(note.id) == note]
            notes = tuple(heard.values())
            return Change(list(map(dropped, left)), [Clearing(place, notes)], [Cleared(place, tuple(left))])

        await self._writer.make(io, clearing, MOST_ROUNDS)
        return left


class AioPool:
    """The verbs of a pool to be awaited."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool

    async def keep(self, note: Note) -> Note:
        """`SessionPool.keep`."""
        return (await self._pool.keep_all(AWAITED, [note]))[0]

    async def drop(self, key: str) -> Note:
        """`SessionPool.drop`."""
        return await self._pool.dropped(AWAITED, key)

    async def clear(self) -> list[Note]:
        """`SessionPool.clear`."""
        return await self._pool.cleared(AWAITED)


def put_into(pool: Pool, note: Note, limit: int | None) -> list[Note]:
    """Put a note into a pool, and return those that it evicts: the oldest that are not long outputs."""
    leaving: list[Note] = []
    if limit is not None and note.key not in pool and handle_of(note) is None:
        bounded = [one for one in pool if handle_of(one) is None]
        leaving = bounded[: max(len(bounded) + 1 - limit, 0)]
    for one in leaving:
        pool.remove(str(one.key))
    pool.add(note)
    return leaving


def dropped(note: Note, by: Note | None = None) -> Written:
    """The entry that drops a note; it names the note that evicts it, if one does."""
    reason = {} if by is None else {"by": by.id}
    return Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key, **reason}))


def _kept(place: Place, note: Note, leaving: Sequence[Note]) -> Change:
    before: list[Event] = [Evicting(place, one, note) for one in leaving]
    after: list[Event] = [Evicted(place, one, note) for one in leaving]
    return Change(
        [*(dropped(one, note) for one in leaving), Written(POOL, note)],
        [*before, Adding(place, POOL, (note,))],
        [*after, Added(place, POOL, (note,))],
    )


def _joined(one: Change, other: Change) -> Change:
    return Change([*one.entries, *other.entries], [*one.before, *other.before], [*one.after, *other.after])
