"""The pool of a session: notes by key, each change of it recorded and heard."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial

from quire.errors import InvalidValue, UnknownKey, WrongType
from quire.items import Item, Note, ToolCall
from quire.session.calls import left_of
from quire.session.deciding import FEW_ROUNDS, MOST_ROUNDS, C, Change, Decide, Deciding, put_out
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
from quire.session.handles import handle_of
from quire.session.meanwhile import Meanwhile
from quire.session.outputs import put_into, staying
from quire.session.workspace import Workspace, Written
from quire.session.writing import Verbs
from quire.state import Pool
from quire.stores.streams import POOL
from quire.stores.tombstones import is_tombstone

Hear = Callable[[Event], Awaitable[None]]
"""Tells hooks of an event, and raises what they do where they refuse it."""


class Pooling(Verbs):
    """The verbs of the pool. A note that comes when the pool is full puts the oldest out."""

    _pool_limit: int | None = None

    @property
    def pool(self) -> Pool:
        """The notes at hand: a copy that may be read at leisure, and that changes nothing."""
        with self._ledger.lock:
            return self._ledger.workspace.pool.fork()

    def keep(self, note: Note, *, given_by: ToolCall | None = None) -> Note:
        """Put a note into the pool; one of the same key gives its place to it.

        A note that was `given_by` a call that was begun is not kept where it tells of what was forgotten
        since. One that holds a long output may be of any call that waits.
        """
        notes = [self._ready_note(note)]
        decide = partial(self._left_to_keep, notes, _checked_call(given_by))
        self._make(self._keeping(notes, self._ledger.workspace), decide)
        return notes[0]

    async def put(self, note: Note, *, given_by: ToolCall | None = None) -> Note:
        """`keep` without blocking the loop; hooks may be async."""
        ready = self._ready_note(note)
        await self._put_all([ready], given_by)
        return ready

    def drop(self, key: str) -> Note:
        """Take a note out of the pool, and give it."""
        decide = partial(self._dropping, key)
        return self._make(self._looked(decide), decide, FEW_ROUNDS).leaving[0]

    async def take(self, key: str) -> Note:
        """`drop` without blocking the loop; hooks may be async."""
        decide = partial(self._dropping, key)
        first = await self._aside(lambda: self._looked(decide))
        return (await self._make_aside(first, decide, FEW_ROUNDS)).leaving[0]

    def clear_pool(self) -> list[Note]:
        """Take all notes out of the pool, and give them. What comes while hooks hear of it stays."""
        first = self._all_there()
        return list(self._make(first, partial(self._clearing, first)).leaving)

    async def take_all(self) -> list[Note]:
        """`clear_pool` without blocking the loop; hooks may be async."""
        first = await self._aside(self._all_there)
        return list((await self._make_aside(first, partial(self._clearing, first))).leaving)

    @cached_property
    def _underway(self) -> dict[str, Meanwhile]:
        """The calls that this session runs, by call id, and what is forgotten meanwhile."""
        return {}

    def _left_of(
        self, items: Sequence[Item], calls: Sequence[ToolCall], workspace: Workspace
    ) -> Sequence[Item]:
        """What may be written of what calls gave: of what was forgotten while they were run, tombstones."""
        call_ids = {call.call_id for call in calls}
        running = call_ids & self._underway.keys()
        for meanwhile in {self._underway[call_id] for call_id in running}:
            items = meanwhile.left_of(items, workspace)
        return left_of(self._ledger, items, call_ids - running, workspace)

    def _ready_note(self, note: Note) -> Note:
        if not isinstance(note, Note):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a pool keeps notes, not {type(note).__name__}")
        if note.key is None:
            raise InvalidValue("a note needs a key to be kept in a pool")
        ready = self._ready([note])[0]
        assert isinstance(ready, Note)
        return ready

    def _looked(self, decide: Decide[Change]) -> Change:
        """What is decided on what is known here, or, where that is nothing, on what others have written."""
        with suppress(UnknownKey):
            known = decide(self._ledger.workspace)
            if known.leaving:
                return known
        self._ledger.catch_up()
        return decide(self._ledger.workspace)

    def _decided(self, decide: Decide[C]) -> C:
        """What is decided on what is known here, whoever writes meanwhile."""
        with self._ledger.lock:
            return decide(self._ledger.workspace)

    def _make(self, first: C, decide: Decide[C], rounds: int = MOST_ROUNDS) -> C:
        deciding = Deciding(first, decide, is_heard=bool(self.hooks), rounds=rounds)
        while not deciding.is_made:
            for event in deciding.untold():
                self.hooks.fire(event)
            self._ledger.commit(deciding.written)
        for event in deciding.change.after:
            self.hooks.fire(event)
        return deciding.change

    async def _make_aside(
        self, first: C, decide: Decide[C], rounds: int = MOST_ROUNDS, hear: Hear | None = None
    ) -> C:
        deciding = Deciding(first, decide, is_heard=bool(self.hooks), rounds=rounds)

        async def tell(_: list[Written]) -> None:
            for event in deciding.change.after if deciding.is_made else ():
                await self.hooks.fire_and_wait(event)

        while not deciding.is_made:
            for event in deciding.untold():
                await (hear or self.hooks.fire_and_wait)(event)
            await self._aside(lambda: self._ledger.commit(deciding.written), tell)
        return deciding.change

    async def _put_all(
        self, notes: Sequence[Note], given_by: ToolCall | None, hear: Hear | None = None
    ) -> None:
        """Put notes into the pool, all or none; each, and all that gives way to it, is heard of before."""
        decide = partial(self._left_to_keep, notes, _checked_call(given_by))
        await self._make_aside(self._keeping(notes, self._ledger.workspace), decide, hear=hear)

    def _left_to_keep(self, notes: Sequence[Note], given_by: ToolCall | None, workspace: Workspace) -> Change:
        """What is kept of notes, given the state that they are written to."""
        calls = [] if given_by is None else [given_by]
        if given_by is None and any(map(handle_of, notes)):
            calls = workspace.pending()
        left = self._left_of(notes, calls, workspace)
        kept = [note for note, one in zip(notes, left, strict=True) if not is_tombstone(one)]
        return self._keeping(kept, workspace)

    def _keeping(self, notes: Sequence[Note], workspace: Workspace) -> Change:
        gone, written, before, after = list[Note](), list[Written](), list[Event](), list[Event]()
        for note, leaving in zip(notes, self._giving_way(notes, workspace), strict=True):
            gone += leaving
            written += [*(put_out(one, note) for one in leaving), Written(POOL, note)]
            before += [
                *(Evicting(self.place, one, note) for one in leaving),
                Adding(self.place, POOL, (note,)),
            ]
            after += [*(Evicted(self.place, one, note) for one in leaving), Added(self.place, POOL, (note,))]
        return Change(gone, written, before, after)

    def _giving_way(self, notes: Sequence[Note], workspace: Workspace) -> list[list[Note]]:
        """Those that have to go for each of some notes that come one after the other."""
        if self._pool_limit is None or all(map(handle_of, notes)):
            return [[] for _ in notes]  # without a copy: a pool of outputs grows with what was said
        pool = workspace.pool.fork()
        stays = cache(partial(staying, workspace, [Written(POOL, note) for note in notes]))
        return [put_into(pool, note, self._pool_limit, stays) for note in notes]

    def _dropping(self, key: str, workspace: Workspace) -> Change:
        note = workspace.pool.get(key)
        return _taking_out((note,), Removing(self.place, note), Removed(self.place, note))

    def _all_there(self) -> Change:
        """The clearing of all notes, also of those that others have kept."""
        with self._ledger.lock:
            self._ledger.catch_up()
            notes = tuple(self._ledger.workspace.pool)
        return _taking_out(notes, Clearing(self.place, notes), Cleared(self.place, notes))

    def _clearing(self, first: Change, workspace: Workspace) -> Change:
        """The same clearing of what is left of them, whatever came since: of that nobody has heard."""
        heard = {note.id: note for note in first.leaving}
        notes = tuple(note for note in workspace.pool if heard.get(note.id) == note)
        return _taking_out(notes, first.before[0], Cleared(self.place, notes))


def _taking_out(notes: Sequence[Note], before: Event, after: Event) -> Change:
    return Change(notes, [put_out(note) for note in notes], (before,), (after,))


def _checked_call(given_by: ToolCall | None) -> ToolCall | None:
    if given_by is None or isinstance(given_by, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance]
        return given_by
    raise WrongType(f"a note is given by a ToolCall, not by a {type(given_by).__name__}")
