"""What queues and pools have in common: hooks, handed to the engine to be called."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from quire.bridges.pygents.declared import DeclaredHook, HookType
from quire.bridges.pygents.hook_lists import checked_hooks, saved_names
from quire.bridges.pygents.item import ContextItem, item_as_dict
from quire.session import Event, Failure, Hook, Hooks
from quire.stores import Place

NOWHERE = Place("", "")
"""Where a queue or a pool is that belongs to no conversation."""


class Hooked(ABC):
    """Items with hooks. The engine calls them, lets them refuse, and keeps what failed of them."""

    _events: ClassVar[Mapping[HookType, type]] = {}
    """The engine's event for each type of hook."""

    def __init__(self, hooks: Iterable[DeclaredHook] | None) -> None:
        self._given = checked_hooks(hooks)
        self._heard = Hooks(self._bound(one) for one in self._given if set(one.types) & set(self._events))

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """How many items there may be."""

    @property
    @abstractmethod
    def items(self) -> list[ContextItem[Any]]:
        """The items, oldest first: a copy."""

    @property
    def hooks(self) -> list[DeclaredHook]:
        """The hooks, in the order in which they are called."""
        return list(self._given)

    @property
    def failures(self) -> list[Failure]:
        """What failed after the fact, the latest last: the hook, the event and the error, by their names."""
        return list(self._heard.failures)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; hooks are saved by type and name."""
        items = [item_as_dict(item, f"$.items[{index}]") for index, item in enumerate(self.items)]
        return {"limit": self.limit, "items": items, "hooks": saved_names(self._given)}

    def _bound(self, one: DeclaredHook) -> Hook:
        """A hook of the engine that calls one of ours with what it takes."""
        events = tuple(self._events[kind] for kind in one.types if kind in self._events)
        return Hook(partial(self._call, one), events, name=one.name)

    async def _call(self, one: DeclaredHook, event: Event) -> None:
        await one(*self._arguments(event))

    @abstractmethod
    def _arguments(self, event: Event) -> tuple[Any, ...]:
        """What a hook of an event is called with."""
