"""Hooks, and the registries in which hooks, tools and agents are found by name."""

import inspect
import logging
from asyncio import Lock
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from quire.errors import InvalidValue, UnknownKey, WrongType, cut

logger = logging.getLogger("quire.bridges")


class UnregisteredHookError(UnknownKey):
    """Saved values name a hook that is not registered in this process."""


# Types of hooks


class ContextQueueHook(StrEnum):
    """Events of a queue."""

    BEFORE_APPEND = "before_append"
    AFTER_APPEND = "after_append"


class ContextPoolHook(StrEnum):
    """Events of a pool."""

    BEFORE_ADD = "before_add"
    AFTER_ADD = "after_add"
    BEFORE_REMOVE = "before_remove"
    AFTER_REMOVE = "after_remove"
    BEFORE_CLEAR = "before_clear"
    AFTER_CLEAR = "after_clear"


class TurnHook(StrEnum):
    """Events of a turn. `ON_VALUE` is for tools that yield."""

    BEFORE_RUN = "before_run"
    AFTER_RUN = "after_run"
    ON_TIMEOUT = "on_timeout"
    ON_ERROR = "on_error"
    ON_VALUE = "on_value"


class AgentHook(StrEnum):
    """Events of an agent."""

    BEFORE_TURN = "before_turn"
    AFTER_TURN = "after_turn"
    ON_TURN_VALUE = "on_turn_value"
    ON_TURN_ERROR = "on_turn_error"
    ON_TURN_TIMEOUT = "on_turn_timeout"
    BEFORE_PUT = "before_put"
    AFTER_PUT = "after_put"
    ON_PAUSE = "on_pause"
    ON_RESUME = "on_resume"


class ToolHook(StrEnum):
    """Events of a tool."""

    BEFORE_INVOKE = "before_invoke"
    ON_YIELD = "on_yield"
    AFTER_INVOKE = "after_invoke"


HookType = ContextQueueHook | ContextPoolHook | TurnHook | AgentHook | ToolHook

AnyHook = Callable[..., Any]
"""A function with a `type`: made by `@hook`, or with the attribute set on it."""


# Registries


Registered = TypeVar("Registered", bound=Any)


class Registry(Generic[Registered]):
    """Things of one kind, found by their names, for the whole process."""

    def __init__(self, kind: str, error: type[UnknownKey]) -> None:
        self._kind = kind
        self._error = error  # for an unknown name
        self._things: list[Registered] = []

    def __contains__(self, name: object) -> bool:
        return any(thing.name == name for thing in self._things)

    def register(self, thing: Registered) -> None:
        """Add a thing; decorators and agents do so themselves. A name in use is a `ValueError`."""
        self.check_free(thing.name)
        self._things.append(thing)

    def check_free(self, name: str) -> None:
        """Raise a `ValueError` if a name is in use."""
        if name in self:
            raise InvalidValue(f"another {self._kind} is registered as {cut(name)!r}")

    def get(self, name: str) -> Registered:
        """The thing with this name."""
        for thing in self._things:
            if thing.name == name:
                return thing
        raise self._error(f"{self._kind} {cut(str(name))!r} not found: it is not registered")

    def unregister(self, name: str) -> None:
        """Free a name."""
        self._things.remove(self.get(name))

    def clear(self) -> None:
        """Free all names."""
        self._things.clear()


# Hooks


@dataclass
class Metadata:
    """The name and the docstring of a tool or a hook."""

    name: str
    description: str | None


class Callback:
    """A function with a lock and with fixed keyword arguments: what hooks and tools have in common."""

    def __init__(self, fn: Callable[..., Any], lock: bool, fixed: Mapping[str, Any]) -> None:
        self.fn = fn
        self.name = self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self.metadata = Metadata(self.name, inspect.getdoc(fn))
        inspect.signature(fn).bind_partial(**fixed)  # a `TypeError` if the function does not take them
        self._fixed = fixed
        self._lock: AbstractAsyncContextManager[Any] = Lock() if lock else nullcontext()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def _with_fixed(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The fixed arguments, and the arguments of a call, which override them."""
        return {**{name: evaluated(value) for name, value in self._fixed.items()}, **kwargs}


class Hook(Callback):
    """A function that runs at some events. `type` is one type, or a tuple of several."""

    def __init__(self, fn: Callable[..., Any], types: Any, lock: bool, fixed: Mapping[str, Any]) -> None:
        super().__init__(fn, lock, fixed)
        self.type: Any = types if isinstance(types, HookType) else tuple(types or ())
        types_of(self)

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, async or not."""
        async with self._lock:
            result = self.fn(*args, **self._with_fixed(kwargs))
            return await result if inspect.isawaitable(result) else result


HookRegistry: Registry[Hook] = Registry("hook", UnregisteredHookError)
"""Where `from_dict` finds hooks by name."""


def hook(
    type: HookType | Iterable[HookType], lock: bool = False, **fixed: Any
) -> Callable[[Callable[..., Any]], Hook]:
    """Declare a function as a hook of one type or of several, and register it by its name.

    With `lock`, calls run one at a time. `fixed` are keyword arguments of every call; a function among them
    is called each time for its value.
    """

    def declare(fn: Callable[..., Any]) -> Hook:
        declared = Hook(fn, type, lock, fixed)
        HookRegistry.register(declared)
        return declared

    return declare


def types_of(callback: AnyHook) -> tuple[HookType, ...]:
    """The types of a hook."""
    own: Any = getattr(callback, "type", None)
    types: tuple[Any, ...] = (own,) if own is None or isinstance(own, HookType) else tuple(own)
    if not types:
        raise InvalidValue("a hook must have at least one type")
    if not all(isinstance(kind, HookType) for kind in types):
        raise WrongType("a hook must have a type, such as ContextPoolHook.AFTER_ADD, or a list of types")
    return types


def evaluated(value: Any) -> Any:
    """What a function returns; any other value as it is."""
    return value() if inspect.isfunction(value) else value


class Hooked:
    """Something with hooks. All hooks of a type run, in the order of the list.

    A hook that runs before an event may refuse it by raising. An error of any other hook is logged.
    """

    def __init__(self, hooks: Iterable[AnyHook] | None) -> None:
        self.hooks = list(hooks or ())
        for callback in self.hooks:
            types_of(callback)

    async def _run_hooks(self, event: HookType, /, *args: Any, **kwargs: Any) -> None:
        for callback in [callback for callback in self.hooks if event in types_of(callback)]:
            try:
                result = callback(*args, **kwargs)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                if event.name.startswith("BEFORE_"):
                    raise
                logger.warning("hook %s failed at %s", callback.__name__, event.value, exc_info=True)

    def _hook_names(self) -> dict[str, list[str]]:
        """The names of the hooks by type, to be saved."""
        names: dict[str, list[str]] = {}
        for callback in self.hooks:
            for kind in types_of(callback):
                names.setdefault(kind.value, []).append(callback.__name__)
        return names


def registered_hooks(names: Mapping[str, list[str]]) -> list[AnyHook]:
    """The hooks whose names were saved by type, each once."""
    unique = dict.fromkeys(name for names_of_type in names.values() for name in names_of_type)
    return [HookRegistry.get(name) for name in unique]
