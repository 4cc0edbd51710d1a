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


HookType = ContextQueueHook | ContextPoolHook | TurnHook | AgentHook

AnyHook = Callable[..., Any]
"""A function with an attribute `type`, such as `@hook` makes."""


# Registries


Registered = TypeVar("Registered", bound=Any)


class Registry(Generic[Registered]):
    """Hooks, tools or agents by name, for the whole process."""

    def __init__(self, kind: str, error: type[UnknownKey]) -> None:
        self._kind = kind
        self._error = error
        self._members: list[Registered] = []  # not by name: agents can be renamed

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self._members)

    def register(self, member: Registered) -> None:
        """Add a member, which decorators and agents do themselves; `ValueError` if its name is in use."""
        self.check_free(member.name)
        self._members.append(member)

    def check_free(self, name: str) -> None:
        """Raise a `ValueError` if a name is in use."""
        if name in self:
            raise InvalidValue(f"another {self._kind} is registered as {cut(name)!r}")

    def get(self, name: str) -> Registered:
        """The member with this name."""
        for member in self._members:
            if member.name == name:
                return member
        raise self._error(f"{self._kind} {cut(str(name))!r} not found: it is not registered")

    def clear(self) -> None:
        """Remove all members."""
        self._members.clear()


# Hooks


@dataclass
class Metadata:
    """The name and the docstring of a tool or a hook."""

    name: str
    description: str | None


class Callback:
    """A function with a lock and with fixed keyword arguments: the base of hooks and tools."""

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
        """The fixed arguments, overridden by those of a call."""
        return {**{name: evaluated(value) for name, value in self._fixed.items()}, **kwargs}


class Hook(Callback):
    """A function that runs at events. `type` is one type of event, or a tuple of several."""

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
    type_or_types: Any = getattr(callback, "type", None)
    is_one = type_or_types is None or isinstance(type_or_types, HookType)
    types: tuple[Any, ...] = (type_or_types,) if is_one else tuple(type_or_types)
    if not types:
        raise InvalidValue("a hook has at least one type")
    if not all(isinstance(kind, HookType) for kind in types):
        raise WrongType("a hook has a type, such as ContextPoolHook.AFTER_ADD, or a list of types")
    return types


def evaluated(value: Any) -> Any:
    """The value itself, or the result of a value that is a function."""
    return value() if inspect.isfunction(value) else value


class Hooked:
    """The base of everything that has hooks. All hooks of a type run, in the order of the list.

    A `BEFORE_*` hook may refuse an event by raising an error. An error of any other hook is logged.
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
        """The names of the hooks by type, for saving."""
        names: dict[str, list[str]] = {}
        for callback in self.hooks:
            for kind in types_of(callback):
                names.setdefault(kind.value, []).append(callback.__name__)
        return names


def registered_hooks(names: Mapping[str, list[str]]) -> list[AnyHook]:
    """The hooks whose names were saved by type, each once."""
    unique = dict.fromkeys(name for of_type in names.values() for name in of_type)
    return [HookRegistry.get(name) for name in unique]
