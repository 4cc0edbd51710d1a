"""The pool: items by id, over the engine's pool of notes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from quire.bridges.pygents.declared import ContextPoolHook, DeclaredHook, HookType
from quire.bridges.pygents.dicts import read_items, read_limit
from quire.bridges.pygents.hook_lists import Inherited, inherited_hooks, saved_hooks_of
from quire.bridges.pygents.hooked import NOWHERE, Hooked
from quire.bridges.pygents.item import ContextItem, note_of
from quire.errors import Conflict, Damaged, InvalidValue, UnknownKey, cut
from quire.items import Note
from quire.session import Added, Adding, Cleared, Clearing, Event, Removed, Removing
from quire.state import Inherit, Pool

_STREAM = "pool"
_MOST_ROUNDS = 10


class ContextPool(Hooked):
    """Items by id. A new id at the limit puts the oldest item out; a known one replaces its item in place."""

    _events: ClassVar[Mapping[HookType, type]] = {
        ContextPoolHook.BEFORE_ADD: Adding,
        ContextPoolHook.AFTER_ADD: Added,
        ContextPoolHook.BEFORE_REMOVE: Removing,
        ContextPoolHook.AFTER_REMOVE: Removed,
        ContextPoolHook.BEFORE_CLEAR: Clearing,
        ContextPoolHook.AFTER_CLEAR: Cleared,
    }

    def __init__(self, limit: int | None = None, hooks: Iterable[DeclaredHook] | None = None) -> None:
        self._pool = Pool(limit=limit)
        super().__init__(hooks)

    @property
    def limit(self) -> int | None:
        """How many items there may be; `None` means any number."""
        return self._pool.limit

    @property
    def items(self) -> list[ContextItem[Any]]:
        """The items, oldest first: a copy."""
        return [note.content for note in self._pool]

    def __len__(self) -> int:
        return len(self._pool)

    def __iter__(self) -> Iterator[ContextItem[Any]]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"<ContextPool of {len(self)} items, limit {self.limit}>"

    async def add(self, item: ContextItem[Any]) -> None:
        """Keep an item. Hooks that hear of it before see the room that was made; a refusal undoes that."""
        note = note_of(item)
        if not self._heard.all:
            self._pool.add(note)
            return
        evicted = self._pool.evicted_by(note)
        if evicted is not None:
            self._pool.remove(str(evicted.key))
        try:
            await self._heard.fire(Adding(NOWHERE, _STREAM, (note,)))
        except BaseException:  # a cancelled task has changed nothing either
            if (
                evicted is not None
                and self._pool.evicted_by(evicted) is None
                and evicted.key not in self._pool
            ):
                self._pool = Pool.restored([evicted, *self._pool], limit=self.limit)
            raise
        self._pool.add(note)
        await self._heard.fire(Added(NOWHERE, _STREAM, (note,)))

    def get(self, id: str) -> ContextItem[Any]:
        """The item with this id."""
        item: ContextItem[Any] = self._note(id).content
        return item

    async def remove(self, id: str) -> None:
        """Take an item out. Of one that comes in its place while hooks hear of it, they hear too.

        Where that has no end it is `Conflict`, and nothing is taken out.
        """
        for _ in range(_MOST_ROUNDS):
            note = self._note(id)
            await self._heard.fire(Removing(NOWHERE, note))
            if self._note(id) is note:
                self._pool.remove(id)
                await self._heard.fire(Removed(NOWHERE, note))
                return
        raise Conflict(f"item {cut(id)!r} was replaced each time that hooks had heard of its removal")

    async def clear(self) -> None:
        """Take all items out that are there now. What comes while hooks hear of it stays."""
        notes = tuple(self._pool)
        await self._heard.fire(Clearing(NOWHERE, notes))
        there = self._pool.clear()
        heard = set(map(id, notes))
        for note in there:
            if id(note) not in heard:
                self._pool.add(note)
        await self._heard.fire(Cleared(NOWHERE, tuple(n for n in there if id(n) in heard)))

    def catalogue(self) -> str:
        """One line for each item, its id and its description: enough to choose by."""
        return self._pool.catalogue()

    def notes(self) -> Pool:
        """The engine's pool with the same contents, for sections that show notes: a copy."""
        notes = (Note(item.content, item.id, item.description) for item in self)
        return Pool.restored(notes, limit=self.limit)

    def branch(
        self,
        limit: int | Inherit | None = Inherit.LIMIT,
        hooks: Iterable[DeclaredHook] | Inherited | None = Inherited.HOOKS,
    ) -> Self:
        """A pool with the same items that goes its own way; a smaller limit keeps the newest."""
        pool = self._pool.fork(limit)
        child = type(self)(limit=pool.limit, hooks=inherited_hooks(hooks, self._given))
        child._pool = pool
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The pool that was written as these values. No hook hears of it, and no item gives way."""
        notes = [_read(fields, f"$.items[{index}]") for index, fields in enumerate(read_items(data))]
        pool = cls(limit=read_limit(data), hooks=saved_hooks_of(data))
        pool._pool = Pool.restored(notes, limit=pool.limit)
        return pool

    def _note(self, id: str) -> Note:
        if id not in self._pool:
            raise UnknownKey(f"no item {cut(str(id))!r} in the pool")
        return self._pool.get(id)

    def _arguments(self, event: Event) -> tuple[Any, ...]:
        match event:
            case Adding(items=(note,)) | Added(items=(note,)) if isinstance(note, Note):
                return self, note.content
            case Removing() | Removed():
                return self, event.note.content
            case _:
                return (self,)


def _read(fields: dict[str, Any], path: str) -> Note:
    try:
        return note_of(ContextItem(**fields))
    except InvalidValue as fault:
        raise Damaged(str(fault), path) from None
