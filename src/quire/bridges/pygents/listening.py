"""Hooks of tools, turns and agents, handed to the engine to be called."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from quire.agent.turns import TurnHooks
from quire.bridges.pygents.declared import DeclaredHook, HookType
from quire.bridges.pygents.hook_lists import checked_hooks
from quire.session import Hook


class Called(NamedTuple):
    """With what a hook is called."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = {}


class Listening(TurnHooks):
    """The hooks in a list, as it is when something happens: a hook may be added to it at any time."""

    def __init__(
        self,
        listed: Callable[[], Iterable[DeclaredHook]],
        events: Mapping[HookType, type],
        called_with: Callable[[Any], Called],
    ) -> None:
        super().__init__()
        self._listed = listed
        self._events = events
        self._called_with = called_with

    async def hear(self, event: Any) -> None:
        """Call the hooks of an event, one after the other."""
        self.all = [self._bound(one) for one in checked_hooks(self._listed())]
        await super().hear(event)

    def _bound(self, one: DeclaredHook) -> Hook:
        events = tuple(self._events[kind] for kind in one.types if kind in self._events)
        return Hook(partial(self._call, one), events, name=one.name)

    async def _call(self, one: DeclaredHook, event: Any) -> None:
        called = self._called_with(event)
        await one(*called.args, **called.kwargs)
