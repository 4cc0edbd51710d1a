"""Context items, the queue of the newest items, and the pool of items by id."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeGuard, TypeVar

from quire.bridges.kit import list_at, mapping_at, read_at, written_at
from quire.bridges.pygents.hooks import (
    AnyHook,
    ContextPoolHook,
    ContextQueueHook,
    Hooked,
    Inherit,
    hook_names,
    inherited,
    saved_hooks,
)
from quire.errors import Damaged, InvalidLimit, InvalidValue, UnknownKey, WrongType, cut
from quire.items import Note, freeze, thaw, to_json
from quire.state import Pool
from quire.tokens import whole

T = TypeVar("T")


@dataclass(frozen=True)  # slots would break `ContextItem[int](...)` in Python 3.11
class ContextItem(Generic[T]):
    """A content, a short description to select by, and an id to store it under in a pool."""

    content: T
    description: str | None = None
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; a content that cannot be written is `Unencodable`, with its path."""
        return {
            "id": self.id,
            "description": self.description,
            "content": to_json(freeze(self.content), "$.content"),
        }

    @classmethod
    def from_dict(cls, data: object) -> "ContextItem[Any]":
        """The item that `to_dict` wrote."""
        fields = mapping_at(data, "$")
        if "content" not in fields:
            raise Damaged("an item has a content", "$.content")
        for name in ("id", "description"):
            if not isinstance(fields.get(name), str | None):
                raise Damaged("expected a text", f"$.{name}")
        return ContextItem(thaw(freeze(fields["content"])), fields.get("description"), fields.get("id"))


class _Container(Hooked, ABC):
    """Items with a limit and with hooks."""

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """The maximum number of items; `None` means any number."""

    @property
    @abstractmethod
    def items(self) -> list[ContextItem[Any]]:
        """A copy of the list of items, oldest first."""

    @abstractmethod
    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ContextItem[Any]]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(limit={self.limit}, len={len(self)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; hooks by type and name."""
        items = [written_at(f"$.items[{index}]", item) for index, item in enumerate(self.items)]
        return {"limit": self.limit, "items": items, "hooks": hook_names(self.hooks)}


class _Done:
    """The result of a verb that has already run: awaiting it does nothing."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class ContextQueue(_Container):
    """The newest `limit` items, in the order in which they came."""

    def __init__(self, limit: int, hooks: Iterable[AnyHook] | None = None) -> None:
        super().__init__(hooks)
        if limit is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidLimit("a queue needs a limit")
        self._items: deque[ContextItem[Any]] = deque(maxlen=whole(limit, "a limit", least=1))

    @property
    def limit(self) -> int:
        """The maximum number of items."""
        return self._items.maxlen or 0

    @property
    def items(self) -> list[ContextItem[Any]]:
        """A copy of the list of items, oldest first."""
        return list(self._items)

    def __len__(self) -> int:
        return len(self._items)

    async def append(self, *items: ContextItem[Any]) -> None:
        """Add items at the end: all of them, or none if one is not an item or a hook refuses."""
        for item in items:
            _check_item(item)
        if not self.hooks:
            self._items.extend(items)  # without a copy of the items for hooks
            return
        await self._run_hooks(ContextQueueHook.BEFORE_APPEND, self.items)
        self._items.extend(items)
        await self._run_hooks(ContextQueueHook.AFTER_APPEND, self.items)

    def clear(self) -> _Done:
        """Remove all items. The queue is empty when this returns; the result may be awaited."""
        self._items.clear()
        return _Done()

    def branch(
        self,
        limit: int | Inherit = Inherit.PARENT,
        hooks: Iterable[AnyHook] | Inherit | None = Inherit.PARENT,
    ) -> Self:
        """An independent queue with the same items; a smaller limit keeps the newest."""
        own_limit = self.limit if isinstance(limit, Inherit) else limit
        child = type(self)(limit=own_limit, hooks=inherited(hooks, self.hooks))
        child._items.extend(self._items)
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The queue that `to_dict` wrote. No hooks run."""
        fields = mapping_at(data, "$")
        if "limit" not in fields:
            raise Damaged("a queue has a limit", "$.limit")
        queue = cls(limit=fields["limit"], hooks=saved_hooks(fields))
        queue._items.extend(_read_items(fields))
        return queue


class ContextPool(_Container):
    """Items by id. A new id in a full pool evicts the oldest item; a known id replaces its item in place."""

    def __init__(self, limit: int | None = None, hooks: Iterable[AnyHook] | None = None) -> None:
        super().__init__(hooks)
        self._pool = Pool(limit=limit)  # of notes whose content is the item

    @property
    def limit(self) -> int | None:
        """The maximum number of items; `None` means any number."""
        return self._pool.limit

    @property
    def items(self) -> list[ContextItem[Any]]:
        """A copy of the list of items, oldest first."""
        return [note.content for note in self._pool]

    def __len__(self) -> int:
        return len(self._pool)

    async def add(self, item: ContextItem[Any]) -> None:
        """Store an item. `BEFORE_ADD` hooks run after eviction; if one raises, the evicted item returns."""
        note = _note_of(item)
        evicted = self._pool.evicted_by(note)
        if evicted is not None:
            self._pool.remove(str(evicted.key))
        try:
            await self._run_hooks(ContextPoolHook.BEFORE_ADD, self, item)
        except BaseException:
            self._restore(evicted)
            raise
        self._pool.add(note)
        await self._run_hooks(ContextPoolHook.AFTER_ADD, self, item)

    def get(self, id: str) -> ContextItem[Any]:
        """The item with this id."""
        if id not in self._pool:
            raise UnknownKey(f"no item {cut(str(id))!r} in the pool")
        item: ContextItem[Any] = self._pool.get(id).content
        return item

    async def remove(self, id: str) -> None:
        """Remove the item with this id."""
        item = self.get(id)
        await self._run_hooks(ContextPoolHook.BEFORE_REMOVE, self, item)
        self._pool.remove(id)
        await self._run_hooks(ContextPoolHook.AFTER_REMOVE, self, item)

    async def clear(self) -> None:
        """Remove all items."""
        await self._run_hooks(ContextPoolHook.BEFORE_CLEAR, self)
        self._pool.clear()
        await self._run_hooks(ContextPoolHook.AFTER_CLEAR, self)

    def catalogue(self) -> str:
        """One line per item with its id and description: enough to select by."""
        return self._pool.catalogue()

    def notes(self) -> Pool:
        """A copy as a pool of the engine, for sections that show notes."""
        notes = (Note(item.content, item.id, item.description) for item in self)
        return Pool.restored(notes, limit=self.limit)

    def branch(
        self,
        limit: int | Inherit | None = Inherit.PARENT,
        hooks: Iterable[AnyHook] | Inherit | None = Inherit.PARENT,
    ) -> Self:
        """An independent pool with the same items; a smaller limit keeps the newest. No hooks run."""
        pool = self._pool.fork() if isinstance(limit, Inherit) else self._pool.fork(limit)
        child = type(self)(limit=pool.limit, hooks=inherited(hooks, self.hooks))
        child._pool = pool
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The pool that `to_dict` wrote, even if it is over its limit. No hooks run."""
        fields = mapping_at(data, "$")
        pool = cls(limit=fields.get("limit"), hooks=saved_hooks(fields))
        try:
            notes = [_note_of(item) for item in _read_items(fields)]
        except InvalidValue as fault:
            raise Damaged(str(fault), "$.items") from None
        pool._pool = Pool.restored(notes, limit=pool.limit)
        return pool

    def _restore(self, evicted: Note | None) -> None:
        """Put an evicted item back in first place, unless its place or its id was taken meanwhile."""
        if evicted is not None and evicted.key not in self._pool and self._pool.evicted_by(evicted) is None:
            self._pool = Pool.restored([evicted, *self._pool], limit=self.limit)


def is_item(value: object) -> TypeGuard[ContextItem[Any]]:
    """Whether a value is an item."""
    return isinstance(value, ContextItem)


def _check_item(item: object) -> None:
    if not is_item(item):
        raise WrongType(f"expected a ContextItem, got {type(item).__name__}")


def _note_of(item: ContextItem[Any]) -> Note:
    _check_item(item)
    if item.id is None or item.description is None:
        missing = "id" if item.id is None else "description"
        raise InvalidValue(f"an item in a pool needs an id and a description; {missing} is None")
    return Note(item, item.id, item.description)


def _read_items(fields: Any) -> list[ContextItem[Any]]:
    saved = enumerate(list_at(fields.get("items") or [], "$.items"))
    return [read_at(f"$.items[{index}]", ContextItem.from_dict, data) for index, data in saved]
