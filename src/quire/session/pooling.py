"""The pool of a session: notes by key, each change of it recorded and heard."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from quire.errors import InvalidValue, WrongType
from quire.items import Hide, Item, Note, Span, ToolCall
from quire.session.events import (
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
from quire.session.meanwhile import Meanwhile
from quire.session.workspace import Workspace, Written
from quire.session.writing import Verbs
from quire.state import Pool
from quire.stores.streams import POOL
from quire.stores.tombstones import is_tombstone
from quire.tokens.numbers import whole


class _Told(NamedTuple):
    """What hooks hear of a change before it is made, and after."""

    before: tuple[Event, ...]
    after: tuple[Event, ...]


class Pooling(Verbs):
    """The verbs of the pool. A note that comes when the pool is full puts the oldest out."""

    _pool_limit: int | None = None

    @property
    def pool(self) -> Pool:
        """The notes at hand: a copy that may be read at leisure, and that changes nothing."""
        with self._ledger.lock:
            return self._ledger.workspace.pool.fork()

    def keep(self, note: Note) -> Note:
        """Put a note into the pool; one of the same key gives its place to it."""
        ready = self._ready_note(note)
        told = self._told_of(ready)
        for event in told.before:
            self.hooks.fire(event)
        self._ledger.commit(lambda workspace: self._kept(workspace, ready))
        for event in told.after:
            self.hooks.fire(event)
        return ready

    async def put(self, note: Note, *, given_by: ToolCall | None = None) -> Note:
        """`keep` without blocking the loop; hooks may be async.

        A note that was `given_by` a call that is being run is not kept where it tells of what was forgotten
        since the call began.
        """
        ready = self._ready_note(note)
        told = self._told_of(ready)
        for event in told.before:
            await self.hooks.fire_and_wait(event)

        def change(workspace: Workspace) -> list[Written]:
            (left,) = self._left_of([ready], [] if given_by is None else [given_by], workspace)
            return [] if is_tombstone(left) else self._kept(workspace, ready)

        async def tell(written: list[Written]) -> None:
            for event in told.after if written else ():
                await self.hooks.fire_and_wait(event)

        await self._aside(lambda: self._ledger.commit(change), tell)
        return ready

    def drop(self, key: str) -> Note:
        """Take a note out of the pool, and give it."""
        note = self._ledger.workspace.pool.get(key)
        self.hooks.fire(Removing(self.place, note))
        self._ledger.commit(lambda workspace: [_out(workspace.pool.get(key))])
        self.hooks.fire(Removed(self.place, note))
        return note

    async def take(self, key: str) -> Note:
        """`drop` without blocking the loop; hooks may be async."""
        note = self._ledger.workspace.pool.get(key)
        await self.hooks.fire_and_wait(Removing(self.place, note))
        await self._aside(
            lambda: self._ledger.commit(lambda workspace: [_out(workspace.pool.get(key))]),
            lambda _: self.hooks.fire_and_wait(Removed(self.place, note)),
        )
        return note

    async def take_all(self) -> list[Note]:
        """`clear_pool` without blocking the loop; hooks may be async."""
        notes = tuple(self._ledger.workspace.pool)
        await self.hooks.fire_and_wait(Clearing(self.place, notes))
        await self._aside(
            lambda: self._ledger.commit(lambda workspace: [_out(note) for note in workspace.pool]),
            lambda _: self.hooks.fire_and_wait(Cleared(self.place, notes)),
        )
        return list(notes)

    def clear_pool(self) -> list[Note]:
        """Take all notes out of the pool, and give them."""
        notes = tuple(self._ledger.workspace.pool)
        self.hooks.fire(Clearing(self.place, notes))
        self._ledger.commit(lambda workspace: [_out(note) for note in workspace.pool])
        self.hooks.fire(Cleared(self.place, notes))
        return list(notes)

    @cached_property
    def _underway(self) -> dict[str, Meanwhile]:
        """The calls that this session runs, by call id, and what is forgotten meanwhile."""
        return {}

    def _left_of(
        self, items: Sequence[Item], calls: Sequence[ToolCall], workspace: Workspace
    ) -> Sequence[Item]:
        """What may be written of what calls gave: of what was forgotten while they were run, tombstones."""
        running = {call.call_id for call in calls} & self._underway.keys()
        for meanwhile in {self._underway[call_id] for call_id in running}:
            items = meanwhile.left_of(items, workspace)
        return items

    def _ready_note(self, note: Note) -> Note:
        if not isinstance(note, Note):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a pool keeps notes, not {type(note).__name__}")
        if note.key is None:
            raise InvalidValue("a note needs a key to be kept in a pool")
        ready = self._ready([note])[0]
        assert isinstance(ready, Note)
        return ready

    def _told_of(self, note: Note) -> _Told:
        leaving = self._leaving(self._ledger.workspace, note)
        evicting = tuple(Evicting(self.place, one, note) for one in leaving)
        evicted = tuple(Evicted(self.place, one, note) for one in leaving)
        return _Told(
            (*evicting, Adding(self.place, POOL, (note,))), (*evicted, Added(self.place, POOL, (note,)))
        )

    def _kept(self, workspace: Workspace, note: Note) -> list[Written]:
        return [*map(_out, self._leaving(workspace, note)), Written(POOL, note)]

    def _leaving(self, workspace: Workspace, note: Note) -> list[Note]:
        """The oldest notes that have to go for this one."""
        if self._pool_limit is None or note.key in workspace.pool:
            return []
        over = len(workspace.pool) + 1 - whole(self._pool_limit, "a limit", least=1)
        return list(workspace.pool)[: max(over, 0)]


def _out(note: Note) -> Written:
    return Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key}))
