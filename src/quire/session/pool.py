"""The pool of a session: notes by key. Each change is recorded, and heard by hooks."""

import re
from collections.abc import Iterable, Iterator, Sequence

from quire.compactors import HANDLE, HANDLE_DIGITS
from quire.errors import InvalidValue
from quire.guesses import hint_attributes
from quire.items import Hide, Item, Mask, Note, Span, ToolResult
from quire.session.aio import IO, Change, Writer, checked_type, plain
from quire.session.hooks import Added, Adding, Dropped, Dropping
from quire.session.log import Log
from quire.session.state import State, Written
from quire.state import Pool
from quire.stores import Place
from quire.stores.streams import POOL

PLAIN_HANDLE = re.compile(rf"\b{HANDLE}[0-9a-f]{{{HANDLE_DIGITS}}}(?!\w|-(?!\d))")
"""The handle of a long output; the keys of its notes begin with it."""

_KEY = re.compile(rf"({PLAIN_HANDLE.pattern})(?:-\d+)?")


def handle_of(note: Note) -> str | None:
    """The handle of a note that holds a long output, or a part of one."""
    found = _KEY.fullmatch(note.key or "")
    return None if found is None else found[1]


def handles_named(items: Iterable[Item]) -> set[str]:
    """The handles that results, and stubs in their place, name."""
    texts = [item.stub for item in items if isinstance(item, Mask)]
    texts += [item.text for item in items if isinstance(item, ToolResult)]
    return {handle for text in texts for handle in PLAIN_HANDLE.findall(text)}


class AioPool:
    """The verbs of a pool, to be awaited."""

    def __init__(self, writer: Writer, io: IO) -> None:
        self._writer, self._log, self._io = writer, writer.log, io

    async def keep(self, note: Note) -> Note:
        """Put a note into the pool; it replaces one with the same key."""
        ready = ready_notes(self._writer, [note])
        await self._writer.write_change(self._io, lambda state: keeping(self._writer, ready, state))
        return ready[0]

    async def drop(self, key: str) -> Note:
        """Drop a note, and return it."""
        if checked_type(key, str, "a note has a key") not in self._log.pool:
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
        heard, dropped = {note.id: note for note in _pool(self._log)}, list[Note]()

        def decide(state: State) -> Change:
            dropped[:] = [note for note in state.pool if heard.get(note.id) == note]
            return dropping(self._writer.place, dropped)

        await self._writer.write_change(self._io, decide)
        return dropped


@hint_attributes
class SessionPool:
    """The notes at hand, by key.

    A note that comes when the pool is full evicts the oldest. Long outputs of tools, which a model may read
    back by their handles, are outside the limit.
    """

    keep = plain(AioPool.keep)
    drop = plain(AioPool.drop)
    clear = plain(AioPool.clear)

    def __init__(self, writer: Writer) -> None:
        self._writer, self._log = writer, writer.log

    def _verbs(self, io: IO) -> AioPool:
        return AioPool(self._writer, io)

    def copy(self) -> Pool:
        """The notes as they are now; changes of the copy change nothing here."""
        return _pool(self._log)

    def __len__(self) -> int:
        return len(self._log.pool)

    def __iter__(self) -> Iterator[Note]:
        return iter(self.copy())

    def __contains__(self, key: object) -> bool:
        return key in self._log.pool

    def __getitem__(self, key: str) -> Note:
        return self._log.pool.get(checked_type(key, str, "a note has a key"))

    def __repr__(self) -> str:
        return f"<SessionPool of {len(self)} notes>"

    def catalogue(self) -> str:
        """One line per note with its key and description."""
        return self.copy().catalogue()


def _pool(log: Log) -> Pool:
    log.check_not_forgotten()
    return log.read_state(lambda state: state.pool.fork())


def ready_notes(writer: Writer, notes: Iterable[Note]) -> list[Note]:
    """Notes as they may be kept: checked, and redacted."""
    given = list(notes)
    for note in given:
        if checked_type(note, Note, 'a pool keeps notes, such as Note("…", key="color")').key is None:
            raise InvalidValue("a note needs a key to be kept in a pool")
    return [note for note in writer.ready(given) if isinstance(note, Note)]


def keeping(writer: Writer, notes: Sequence[Note], state: State, pool: Pool | None = None) -> Change:
    """The change that keeps notes one after the other, with the evictions it takes.

    `pool` is the pool to begin with, and is changed.
    """
    place, limit = writer.place, writer.pool_limit
    if limit is not None and pool is None:
        pool = state.pool.fork()
    changes = list[Change]()
    for note in notes:
        if not state.mentions_erased(note):
            evicted = [] if pool is None else _put_into(pool, note, limit)
            kept = [Written(POOL, note)], [Adding(place, POOL, (note,))], [Added(place, POOL, (note,))]
            changes += [dropping(place, evicted, note), Change(*kept)]
    return Change.joined(changes)


def dropping(place: Place, notes: Sequence[Note], by: Note | None = None) -> Change:
    """The change that drops notes; `by` is the note that evicts them, if one does."""
    reason = {} if by is None else {"by": by.id}
    entries = [
        Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key, **reason})) for note in notes
    ]
    if not notes:
        return Change([])
    return Change(entries, [Dropping(place, tuple(notes), by)], [Dropped(place, tuple(notes), by)])


def _put_into(pool: Pool, note: Note, limit: int | None) -> list[Note]:
    """Put a note into a pool, and return those that it evicts: the oldest that are not long outputs."""
    leaving: list[Note] = []
    if limit is not None and note.key not in pool and handle_of(note) is None:
        bounded = [one for one in pool if handle_of(one) is None]
        leaving = bounded[: max(len(bounded) + 1 - limit, 0)]
    for one in leaving:
        pool.remove(str(one.key))
    pool.add(note)
    return leaving
