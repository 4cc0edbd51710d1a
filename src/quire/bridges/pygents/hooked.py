"""What queues and pools have in common: hooks, handed to the engine to be called."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, ClassVar

from quire.bridges.pygents.declared import DeclaredHook, HookType
from quire.bridges.pygents.dicts import read_hook_names
from quire.bridges.pygents.item import ContextItem, item_as_dict
from quire.bridges.pygents.registry import HookRegistry
from quire.errors import Damaged, WrongType
from quire.session import Event, Hook, Hooks
from quire.session.hooks import Failure
from quire.stores import Place

NOWHERE = Place("", "")
"""Where a queue or a pool is that belongs to no conversation."""


class Inherited(Enum):
    """Stands for hooks that are not given, because `None` and `[]` mean none."""

    HOOKS = "the hooks of the parent"


class Hooked(ABC):
    """Items with hooks. The engine calls them, lets them refuse, and keeps what failed of them."""

    _events: ClassVar[Mapping[HookType, type]] = {}
    """The engine's event for each type of hook."""

    def __init__(self, hooks: Iterable[DeclaredHook] | None) -> None:
        self._given = _checked(hooks)
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
        return {"limit": self.limit, "items": items, "hooks": self._saved_hooks()}

    def _bound(self, one: DeclaredHook) -> Hook:
        """A hook of the engine that calls one of ours with what it takes."""
        events = tuple(self._events[kind] for kind in one.types if kind in self._events)
        return Hook(partial(self._call, one), events, name=one.name)

    async def _call(self, one: DeclaredHook, event: Event) -> None:
        await one(*self._arguments(event))

    @abstractmethod
    def _arguments(self, event: Event) -> tuple[Any, ...]:
        """What a hook of an event is called with."""

    def _hooks_for_branch(
        self, hooks: Iterable[DeclaredHook] | Inherited | None
    ) -> Iterable[DeclaredHook] | None:
        return self._given if isinstance(hooks, Inherited) else hooks

    def _saved_hooks(self) -> dict[str, list[str]]:
        """The names of hooks by type."""
        names: dict[str, dict[str, None]] = {}
        for one in self._given:
            for kind in one.types:
                names.setdefault(kind.value, {})[one.name] = None
        return {kind: list(listed) for kind, listed in names.items()}


def saved_hooks_of(data: object) -> list[DeclaredHook]:
    """The hooks that were saved by type and name, each once, in an order that every type had."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for names in read_hook_names(data):
        for name in names:
            order.add(name)
        for before, after in pairwise(names):
            order.add(after, before)
    try:
        return [HookRegistry.get(name) for name in order.static_order()]
    except CycleError:
        raise Damaged("hooks are listed in orders that contradict each other", "$.hooks") from None


def _checked(hooks: Iterable[DeclaredHook] | None) -> tuple[DeclaredHook, ...]:
    if not isinstance(hooks, Iterable | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"hooks are given as a list, not {type(hooks).__name__}")
    found = tuple(hooks or ())
    for one in found:
        if not isinstance(one, DeclaredHook):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a hook carries its type, from @hook: {type(one).__name__} does not")
    return tuple(dict.fromkeys(found))
