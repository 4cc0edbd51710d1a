"""Hooks, and the registries in which hooks, tools and agents are found by name."""

import inspect
import logging
from asyncio import Lock, get_running_loop
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum, StrEnum
from inspect import isawaitable, isfunction
from typing import Any, Generic, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from quire.bridges.kit import list_at, mapping_at
from quire.errors import Damaged, InvalidValue, UnknownKey, WrongType, cut
from quire.tokens import named

logger = logging.getLogger("quire.bridges")

_MOST_FAILURES = 100


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
    """Things of one kind by name, for the whole process."""

    def __init__(self, kind: str, missing: type[UnknownKey]) -> None:
        self._kind = kind
        self._missing = missing
        self._known: dict[str, Registered] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def register(self, thing: Registered) -> None:
        """Register under its name; what is declared registers itself. A name in use is a `ValueError`."""
        if self._known.setdefault(thing.name, thing) is not thing:
            raise InvalidValue(f"another {self._kind} is registered as {cut(thing.name)!r}")

    def get(self, name: str) -> Registered:
        """The one with this name."""
        if name not in self._known:
            raise self._missing(f"{self._kind} {cut(str(name))!r} not found: it is not registered")
        return self._known[name]

    def unregister(self, name: str) -> None:
        """Free a name."""
        self.get(name)
        del self._known[name]

    def clear(self) -> None:
        """Free all names."""
        self._known.clear()


# Hooks


@dataclass
class Metadata:
    """The name and the docstring of a tool or a hook."""

    name: str
    description: str | None


class Callback:
    """A function with a lock and with fixed keyword arguments: what hooks and tools have in common."""

    def __init__(self, fn: Callable[..., Any], lock: bool, fixed: Mapping[str, Any], kind: str) -> None:
        if not callable(fn):
            raise WrongType(f"a {kind} is a function, not {type(fn).__name__}")
        self.fn = fn
        self.name = self.__name__ = named(getattr(fn, "__name__", None), f"the name of a {kind}")
        self.__doc__ = fn.__doc__
        self.metadata = Metadata(self.name, inspect.getdoc(fn))
        self._fixed = dict(fixed)
        # A lock belongs to the loop in which it is first waited for; a callback outlives loops.
        self._locks: WeakKeyDictionary[Any, Lock] | None = WeakKeyDictionary() if lock else None
        try:
            inspect.signature(fn).bind_partial(**fixed)
        except TypeError as fault:
            raise WrongType(f"{kind} {cut(self.name)!r} does not take its fixed arguments: {fault}") from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def _locked(self) -> AbstractAsyncContextManager[Any]:
        return nullcontext() if self._locks is None else self._locks.setdefault(get_running_loop(), Lock())

    def _with_fixed(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, which override the fixed ones."""
        overridden = sorted(self._fixed.keys() & kwargs.keys())
        if overridden:
            logger.warning("%s: fixed arguments are overridden: %s", self.name, ", ".join(overridden))
        fixed = {name: evaluated(value) for name, value in self._fixed.items() if name not in kwargs}
        return {**fixed, **kwargs}


class Hook(Callback):
    """A function that runs at some events. `type` is one type, or a tuple of several."""

    def __init__(
        self, fn: Callable[..., Any], types: tuple[HookType, ...], lock: bool, fixed: Mapping[str, Any]
    ) -> None:
        super().__init__(fn, lock, fixed, "hook")
        self.type: HookType | tuple[HookType, ...] = types[0] if len(types) == 1 else types

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, async or not."""
        async with self._locked():
            result = self.fn(*args, **self._with_fixed(kwargs))
            return await result if isawaitable(result) else result


HookRegistry: Registry[Hook] = Registry("hook", UnregisteredHookError)
"""Where `from_dict` finds hooks by name."""


def hook(
    type: HookType | Iterable[HookType], lock: bool = False, **fixed: Any
) -> Callable[[Callable[..., Any]], Hook]:
    """Declare a function as a hook of one type or of several, and register it by its name.

    With `lock`, calls run one at a time. `fixed` are keyword arguments of every call; a function among them
    is called each time for its value.
    """
    types = _checked_types(type)

    def declare(fn: Callable[..., Any]) -> Hook:
        made = Hook(fn, types, lock, fixed)
        HookRegistry.register(made)
        return made

    return declare


def types_of(one: object) -> tuple[HookType, ...]:
    """The types of a hook."""
    if not callable(one):
        raise WrongType(f"a hook is a function, not {type(one).__name__}")
    return _checked_types(getattr(one, "type", None))


def _checked_types(given: object) -> tuple[HookType, ...]:
    if isinstance(given, HookType):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise WrongType("a hook has a type, such as ContextPoolHook.AFTER_ADD, or a list of types")
    types = tuple(kind for one in cast("Iterable[object]", given) for kind in _checked_types(one))
    if not types:
        raise InvalidValue("a hook has at least one type")
    return types


def evaluated(value: Any) -> Any:
    """The value; of a function, what it returns."""
    return value() if isfunction(value) else value


# Lists of hooks


class Inherit(Enum):
    """The default of arguments of `branch`, because `None` has a meaning there."""

    PARENT = "as the parent"


class Failure(NamedTuple):
    """An error of a hook that ran after the event."""

    hook: str
    event: str
    fault: str


class Hooked:
    """Something with hooks. All hooks of a type run, in the order of the list.

    A hook that runs before an event may refuse it by raising. An error of any other hook is logged and kept
    in `failures`.
    """

    def __init__(self, hooks: Iterable[AnyHook] | None) -> None:
        self.hooks = list(dict.fromkeys(hooks or ()))
        self.failures: list[Failure] = []
        for one in self.hooks:
            types_of(one)

    async def _run_hooks(self, event: HookType, /, *args: Any, **kwargs: Any) -> None:
        for one in [one for one in self.hooks if event in types_of(one)]:
            try:
                result = one(*args, **kwargs)
                if isawaitable(result):
                    await result
            except Exception as fault:
                if event.name.startswith("BEFORE_"):
                    raise
                failure = Failure(_name_of(one), event.value, type(fault).__name__)
                self.failures = [*self.failures, failure][-_MOST_FAILURES:]
                logger.warning("hook %s failed at %s: %s", *failure)


def inherited(hooks: Iterable[AnyHook] | Inherit | None, parent: list[AnyHook]) -> Iterable[AnyHook] | None:
    """The hooks of a branch: those given, or the parent's."""
    return parent if isinstance(hooks, Inherit) else hooks


def hook_names(hooks: Iterable[AnyHook]) -> dict[str, list[str]]:
    """The names of hooks by type, to be saved."""
    names: dict[str, list[str]] = {}
    for one in hooks:
        for kind in types_of(one):
            names.setdefault(kind.value, []).append(_name_of(one))
    return names


def saved_hooks(fields: Mapping[str, Any]) -> list[AnyHook]:
    """The registered hooks whose names were saved, each once."""
    by_type = mapping_at(fields.get("hooks") or {}, "$.hooks")
    names = [name for each in by_type.values() for name in list_at(each, "$.hooks")]
    if not all(isinstance(name, str) for name in names):
        raise Damaged("hooks are saved by name", "$.hooks")
    return [HookRegistry.get(name) for name in dict.fromkeys(names)]


def _name_of(one: AnyHook) -> str:
    return getattr(one, "__name__", type(one).__name__)
