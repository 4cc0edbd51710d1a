"""Context items, the queue of the newest items, and the pool of items by id."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeGuard, TypeVar

import msgspec

from quire.bridges.kit import read_saved
from quire.bridges.pygents.hooks import AnyHook, ContextPoolHook, ContextQueueHook, Hooked, registered_hooks
from quire.errors import InvalidValue, WrongType
from quire.items import Note, freeze, to_json
from quire.state import Inherit, Pool
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
        return fit_for_json(self.fields())

    @classmethod
    def from_dict(cls, data: object) -> "ContextItem[Any]":
        """The item that `to_dict` wrote."""
        return read_saved(data, cls)

    def fields(self) -> dict[str, Any]:
        """The fields by name, with the content as it is."""
        return {"id": self.id, "description": self.description, "content": self.content}


def is_item(value: object) -> TypeGuard[ContextItem[Any]]:
    """Whether a value is an item."""
    return isinstance(value, ContextItem)


def fit_for_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as JSON values; a value that cannot be written is `Unencodable`, with its path."""
    written: dict[str, Any] = to_json(freeze(fields))
    return written


class SavedContainer(msgspec.Struct):
    """A saved queue or pool."""

    limit: Any = None
    items: list[ContextItem[Any]] = []
    hooks: dict[str, list[str]] = {}


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

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ContextItem[Any]]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(limit={self.limit}, len={len(self)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; hooks by type and name."""
        return fit_for_json(self.fields())

    def fields(self) -> dict[str, Any]:
        """What is saved, with the contents of items as they are."""
        items = [item.fields() for item in self.items]
        return {"limit": self.limit, "items": items, "hooks": self._hook_names()}


class _Done:
    """The result of a method that has already run: awaiting it does nothing."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class ContextQueue(_Container):
    """The newest `limit` items, in the order in which they came."""

    def __init__(self, limit: int, hooks: Iterable[AnyHook] | None = None) -> None:
        super().__init__(hooks)
        self._items: deque[ContextItem[Any]] = deque(maxlen=whole(limit, "a limit", least=1))

    @property
    def limit(self) -> int:
        """The maximum number of items."""
        return self._items.maxlen or 0

    @property
    def items(self) -> list[ContextItem[Any]]:
        """A copy of the list of items, oldest first."""
        return list(self._items)

    async def append(self, *items: ContextItem[Any]) -> None:
        """Add items at the end: all of them, or none if one is not an item or a hook refuses."""
        for item in items:
            _check_item(item)
        await self._run_hooks(ContextQueueHook.BEFORE_APPEND, self.items)
        self._items.extend(items)
        await self._run_hooks(ContextQueueHook.AFTER_APPEND, self.items)

    def clear(self) -> _Done:
        """Remove all items. The queue is empty when this returns; the result may be awaited."""
        self._items.clear()
        return _Done()

    def branch(self, limit: int | None = None, hooks: Iterable[AnyHook] | None = None) -> Self:
        """An independent queue with the same items; a smaller limit keeps the newest.

        Without a limit or hooks, those of the parent are used.
        """
        own_limit = self.limit if limit is None else limit
        child = type(self)(own_limit, self.hooks if hooks is None else hooks)
        child._items.extend(self._items)
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The queue that `to_dict` wrote. No hooks run."""
        saved = read_saved(data, SavedContainer)
        queue = cls(saved.limit, registered_hooks(saved.hooks))
        queue._items.extend(saved.items)
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

    async def add(self, item: ContextItem[Any]) -> None:
        """Store an item. `BEFORE_ADD` hooks run after eviction; if one raises, the evicted item returns."""
        note = _note_of(item)
        evicted = self._pool.evicted_by(note)
        if evicted is not None:
            self._pool.remove(str(evicted.key))
        try:
            await self._run_hooks(ContextPoolHook.BEFORE_ADD, self, item)
        except BaseException:
            if evicted is not None:
                self._pool = Pool.restored([evicted, *self._pool], limit=self.limit)
            raise
        self._pool.add(note)
        await self._run_hooks(ContextPoolHook.AFTER_ADD, self, item)

    def get(self, id: str) -> ContextItem[Any]:
        """The item with this id; `KeyError` if there is none."""
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
        self, limit: int | Inherit | None = Inherit.LIMIT, hooks: Iterable[AnyHook] | None = None
    ) -> Self:
        """An independent pool with the same items; a smaller limit keeps the newest. No hooks run.

        Without a limit or hooks, those of the parent are used; `None` as a limit means any number.
        """
        child = type(self)(hooks=self.hooks if hooks is None else hooks)
        child._pool = self._pool.fork(limit)
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The pool that `to_dict` wrote, even if it is over its limit. No hooks run."""
        saved = read_saved(data, SavedContainer)
        pool = cls(hooks=registered_hooks(saved.hooks))
        pool._pool = Pool.restored(map(_note_of, saved.items), limit=saved.limit)
        return pool


def _check_item(item: object) -> None:
    if not is_item(item):
        raise WrongType(f"expected a ContextItem, got {type(item).__name__}")


def _note_of(item: ContextItem[Any]) -> Note:
    _check_item(item)
    if item.id is None or item.description is None:
        missing = "id" if item.id is None else "description"
        raise InvalidValue(f"an item in a pool needs an id and a description; {missing} is None")
    return Note(item, item.id, item.description)
