"""What a hook is here: a function with the types of what it hears."""

from asyncio import AbstractEventLoop, Lock, get_running_loop
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import StrEnum
from inspect import isawaitable, isfunction, signature
from typing import Any
from weakref import WeakKeyDictionary

from quire.errors import WrongType, cut
from quire.tokens import named


class ContextQueueHook(StrEnum):
    """What is heard of a queue."""

    BEFORE_APPEND = "before_append"
    AFTER_APPEND = "after_append"


class ContextPoolHook(StrEnum):
    """What is heard of a pool."""

    BEFORE_ADD = "before_add"
    AFTER_ADD = "after_add"
    BEFORE_REMOVE = "before_remove"
    AFTER_REMOVE = "after_remove"
    BEFORE_CLEAR = "before_clear"
    AFTER_CLEAR = "after_clear"


class TurnHook(StrEnum):
    """What is heard of a turn."""

    BEFORE_RUN = "before_run"
    AFTER_RUN = "after_run"
    ON_TIMEOUT = "on_timeout"
    ON_ERROR = "on_error"
    ON_VALUE = "on_value"


class AgentHook(StrEnum):
    """What is heard of an agent."""

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
    """What is heard of a tool."""

    BEFORE_INVOKE = "before_invoke"
    ON_YIELD = "on_yield"
    AFTER_INVOKE = "after_invoke"


HookType = ContextQueueHook | ContextPoolHook | TurnHook | AgentHook | ToolHook


class DeclaredHook:
    """A function that `hook` has declared. Awaited, it is the function with its fixed arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        types: tuple[HookType, ...],
        fixed: Mapping[str, Any],
        lock: bool = False,
    ) -> None:
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType(f"a hook is a function, not {type(function).__name__}")
        self.function = function
        self.types = types
        self.name = self.__name__ = named(getattr(function, "__name__", None), "the name of a hook")
        self.__doc__ = function.__doc__
        self._fixed = fitting(function, fixed, f"hook {cut(self.name)!r}")
        self._locks: WeakKeyDictionary[AbstractEventLoop, Lock] | None = WeakKeyDictionary() if lock else None

    def __repr__(self) -> str:
        return f"<hook {self.name!r} of {', '.join(self.types)}>"

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; a keyword that is given goes before a fixed one."""
        async with self._one_at_a_time():
            fixed = {name: now_of(value) for name, value in self._fixed.items() if name not in kwargs}
            answer = self.function(*args, **fixed, **kwargs)
            return await answer if isawaitable(answer) else answer

    def _one_at_a_time(self) -> AbstractAsyncContextManager[Any]:
        if self._locks is None:
            return nullcontext()
        # A lock belongs to the loop that first waits for it; a hook outlives loops.
        return self._locks.setdefault(get_running_loop(), Lock())


def now_of(value: Any) -> Any:
    """A value, or what a function gives that stands for one."""
    return value() if isfunction(value) else value


def fitting(function: Callable[..., Any], fixed: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The fixed arguments, if the function takes them."""
    try:
        signature(function).bind_partial(**fixed)
    except TypeError as fault:
        raise WrongType(f"{what} does not take its fixed arguments: {fault}") from None
    return dict(fixed)
