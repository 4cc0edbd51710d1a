"""The queue: the newest few items."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from quire.bridges.pygents.declared import ContextQueueHook, DeclaredHook, HookType
from quire.bridges.pygents.dicts import read_items, read_limit
from quire.bridges.pygents.hook_lists import Inherited, inherited_hooks, saved_hooks_of
from quire.bridges.pygents.hooked import NOWHERE, Hooked
from quire.bridges.pygents.item import ContextItem, checked_item
from quire.errors import InvalidLimit
from quire.items import Note
from quire.session import Added, Adding, Event
from quire.state import Inherit
from quire.tokens import whole

_STREAM = "queue"


class ContextQueue(Hooked):
    """At most `limit` items, in the order they came; the oldest give way."""

    _events: ClassVar[Mapping[HookType, type]] = {
        ContextQueueHook.BEFORE_APPEND: Adding,
        ContextQueueHook.AFTER_APPEND: Added,
    }

    def __init__(self, limit: int, hooks: Iterable[DeclaredHook] | None = None) -> None:
        self._items: deque[ContextItem[Any]] = deque(maxlen=_checked_limit(limit))
        super().__init__(hooks)

    @property
    def limit(self) -> int:
        """How many items there may be."""
        return self._items.maxlen or 0

    @property
    def items(self) -> list[ContextItem[Any]]:
        """The items, oldest first: a copy."""
        return list(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ContextItem[Any]]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"<ContextQueue of {len(self)} items, limit {self.limit}>"

    async def append(self, *items: ContextItem[Any]) -> None:
        """Put items in at the end: all of them, or none where one is no item or a hook refuses."""
        for item in items:
            checked_item(item)
        if not self._heard.all or not items:
            self._items.extend(items)
            return
        notes = tuple(Note(item) for item in items)
        await self._heard.fire(Adding(NOWHERE, _STREAM, notes))
        self._items.extend(items)
        await self._heard.fire(Added(NOWHERE, _STREAM, notes))

    def clear(self) -> None:
        """Take everything out; no hook hears of it."""
        self._items.clear()

    def branch(
        self,
        limit: int | Inherit = Inherit.LIMIT,
        hooks: Iterable[DeclaredHook] | Inherited | None = Inherited.HOOKS,
    ) -> Self:
        """A queue with the same items that goes its own way; a smaller limit keeps the newest."""
        own = self.limit if isinstance(limit, Inherit) else limit
        child = type(self)(limit=own, hooks=inherited_hooks(hooks, self._given))
        child._items.extend(self._items)
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The queue that was written as these values. No hook hears of it."""
        items = [ContextItem(**fields) for fields in read_items(data)]
        queue = cls(limit=read_limit(data), hooks=saved_hooks_of(data))
        queue._items.extend(items)
        return queue

    def _arguments(self, event: Event) -> tuple[Any, ...]:
        return (self.items,)


def _checked_limit(limit: int | None) -> int:
    if limit is None:
        raise InvalidLimit("a queue needs a limit")
    return whole(limit, "a limit", least=1)
