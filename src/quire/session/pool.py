"""The pool of a session: notes by key. Each change is recorded, and fires hooks."""

import re
from collections.abc import Iterable, Iterator, Sequence

from quire.compactors import HANDLE, HANDLE_DIGITS
from quire.errors import InvalidValue
from quire.guesses import hint_attributes
from quire.items import Hide, Item, Mask, Note, Span, ToolResult
from quire.session.aio import IO, Change, Writer, checked_type, plain
from quire.session.hooks import Dropped, Dropping
from quire.session.log import Log
from quire.session.state import State, Written
from quire.state import Pool
from quire.stores import Place
from quire.stores.streams import POOL

PLAIN_HANDLE = re.compile(rf"\b{HANDLE}[0-9a-f]{{{HANDLE_DIGITS}}}(?!\w|-(?!\d))")
"""Matches the handle of a long output. The keys of the notes that hold the output begin with the handle."""

_KEY = re.compile(rf"({PLAIN_HANDLE.pattern})(?:-\d+)?")


def handle_of(note: Note) -> str | None:
    """The handle of a note that holds a long output, or a part of one."""
    match = _KEY.fullmatch(note.key or "")
    return None if match is None else match[1]


def handles_named(items: Iterable[Item]) -> set[str]:
    """The handles in the texts of results, and of stubs that replace results."""
    texts = [item.stub for item in items if isinstance(item, Mask)]
    texts += [item.text for item in items if isinstance(item, ToolResult)]
    return {handle for text in texts for handle in PLAIN_HANDLE.findall(text)}


class AioPool:
    """The verbs of a pool, as coroutines."""

    def __init__(self, writer: Writer, io: IO) -> None:
        self._writer, self._log, self._io = writer, writer.log, io

    async def keep(self, note: Note) -> Note:
        """Put a note into the pool; it replaces one with the same key."""
        ready = ready_notes(self._writer, [note])
        await self._writer.write_change(self._io, lambda state: keeping(self._writer, ready, state))
        return ready[0]

    async def drop(self, key: str) -> Note:
        """Drop a note, and return it."""
        if checked_type(key, str, "a note must have a key") not in self._log.pool:
            await self._io.do(self._log, self._log.catch_up)  # another may have kept it
        dropped = list[Note]()

        def decide(state: State) -> Change:
            dropped[:] = [state.pool.get(key)]
            return dropping(self._writer.place, dropped)

        await self._writer.write_change(self._io, decide)
        return dropped[0]

    async def clear(self) -> list[Note]:
        """Drop all notes, and return them. Notes that hooks add meanwhile stay."""
        await self._io.do(self._log, self._log.catch_up)
        notes_by_id, dropped = {note.id: note for note in _pool(self._log)}, list[Note]()

        def decide(state: State) -> Change:
            dropped[:] = [note for note in state.pool if notes_by_id.get(note.id) == note]
            return dropping(self._writer.place, dropped)

        await self._writer.write_change(self._io, decide)
        return dropped


@hint_attributes
class SessionPool:
    """The notes at hand, by key.

    A new note in a full pool evicts the oldest one. Long outputs of tools, which a model can read by their
    handles, do not count towards the limit.
    """

    keep = plain(AioPool.keep)
    drop = plain(AioPool.drop)
    clear = plain(AioPool.clear)

    def __init__(self, writer: Writer) -> None:
        self._writer, self._log = writer, writer.log

    def _verbs(self, io: IO) -> AioPool:
        return AioPool(self._writer, io)

    def copy(self) -> Pool:
        """An independent copy of the notes as they are now."""
        return _pool(self._log)

    def __len__(self) -> int:
        return len(self._log.pool)

    def __iter__(self) -> Iterator[Note]:
        return iter(self.copy())

    def __contains__(self, key: object) -> bool:
        return key in self._log.pool

    def __getitem__(self, key: str) -> Note:
        return self._log.pool.get(checked_type(key, str, "a note must have a key"))

    def __repr__(self) -> str:
        return f"<SessionPool of {len(self)} notes>"

    def catalogue(self) -> str:
        """One line per note with its key and description."""
        return self.copy().catalogue()


def _pool(log: Log) -> Pool:
    log.check_not_forgotten()
    return log.read_state(lambda state: state.pool.fork())


def ready_notes(writer: Writer, notes: Iterable[Note]) -> list[Note]:
    """Check that these are notes with keys, and redact them."""
    checked = list(notes)
    for note in checked:
        if checked_type(note, Note, 'a pool keeps notes, such as Note("…", key="color")').key is None:
            raise InvalidValue("a note needs a key to be kept in a pool")
    return [note for note in writer.ready(checked) if isinstance(note, Note)]


def keeping(writer: Writer, notes: Sequence[Note], state: State, pool: Pool | None = None) -> Change:
    """The change that keeps notes, and drops those that they evict.

    `pool` is the pool before the change, and is modified; the default is a copy of the current pool.
    """
    place, limit = writer.place, writer.pool_limit
    if limit is not None and pool is None:
        pool = state.pool.fork()
    changes = list[Change]()
    for note in notes:
        if not state.mentions_erased(note):
            evicted = [] if pool is None else _put_into(pool, note, limit)
            changes += [dropping(place, evicted, note), Change.adding(place, POOL, [note])]
    return Change.joined(changes)


def dropping(place: Place, notes: Sequence[Note], by: Note | None = None) -> Change:
    """The change that drops notes; `by` is the note that evicts them."""
    if not notes:
        return Change([])
    reason = {} if by is None else {"by": by.id}
    entries = [
        Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key, **reason})) for note in notes
    ]
    return Change(entries, [Dropping(place, tuple(notes), by)], [Dropped(place, tuple(notes), by)])


def _put_into(pool: Pool, note: Note, limit: int | None) -> list[Note]:
    """Put a note into a pool, and return the notes that it evicts: the oldest that are not long outputs."""
    evicted: list[Note] = []
    if limit is not None and note.key not in pool and handle_of(note) is None:
        counted = [other for other in pool if handle_of(other) is None]
        evicted = counted[: max(len(counted) + 1 - limit, 0)]
    for other in evicted:
        pool.remove(str(other.key))
    pool.add(note)
    return evicted
