"""The queue: the newest few items, over the engine's window."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from quire.bridges.pygents.declared import ContextQueueHook, DeclaredHook, HookType
from quire.bridges.pygents.dicts import read_items, read_limit
from quire.bridges.pygents.hook_lists import Inherited, inherited_hooks, saved_hooks_of
from quire.bridges.pygents.hooked import NOWHERE, Hooked
from quire.bridges.pygents.item import ContextItem, checked_item
from quire.items import Note
from quire.session import Added, Adding, Event
from quire.state import Inherit, Window

_STREAM = "queue"


class ContextQueue(Hooked):
    """At most `limit` items, in the order they came; the oldest give way."""

    _events: ClassVar[Mapping[HookType, type]] = {
        ContextQueueHook.BEFORE_APPEND: Adding,
        ContextQueueHook.AFTER_APPEND: Added,
    }

    def __init__(self, limit: int, hooks: Iterable[DeclaredHook] | None = None) -> None:
        self._window: Window[ContextItem[Any]] = Window(limit=limit)
        super().__init__(hooks)

    @property
    def limit(self) -> int:
        """How many items there may be."""
        return self._window.limit

    @property
    def items(self) -> list[ContextItem[Any]]:
        """The items, oldest first: a copy."""
        return list(self._window)

    def __len__(self) -> int:
        return len(self._window)

    def __iter__(self) -> Iterator[ContextItem[Any]]:
        return iter(self._window)

    def __repr__(self) -> str:
        return f"<ContextQueue of {len(self)} items, limit {self.limit}>"

    async def append(self, *items: ContextItem[Any]) -> None:
        """Put items in at the end: all of them, or none where one is no item or a hook refuses."""
        for item in items:
            checked_item(item)
        if not self._heard or not items:
            self._window.add(*items)
            return
        notes = tuple(Note(item) for item in items)
        await self._heard.fire_and_wait(Adding(NOWHERE, _STREAM, notes))
        self._window.add(*items)
        await self._heard.fire_and_wait(Added(NOWHERE, _STREAM, notes))

    def clear(self) -> None:
        """Take everything out; no hook hears of it."""
        self._window.clear()

    def branch(
        self,
        limit: int | Inherit = Inherit.LIMIT,
        hooks: Iterable[DeclaredHook] | Inherited | None = Inherited.HOOKS,
    ) -> Self:
        """A queue with the same items that goes its own way; a smaller limit keeps the newest."""
        window = self._window.branch(limit)
        child = type(self)(limit=window.limit, hooks=inherited_hooks(hooks, self._given))
        child._window = window
        return child

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The queue that was written as these values. No hook hears of it."""
        items = [ContextItem(**fields) for fields in read_items(data)]
        queue = cls(limit=read_limit(data), hooks=saved_hooks_of(data))
        queue._window.add(*items)
        return queue

    def _arguments(self, event: Event) -> tuple[Any, ...]:
        return (self.items,)
