"""Tools: async functions and generators, known by their names."""

import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from quire.agent.tools import Tool as EngineTool, tool as engine_tool
from quire.agent.tools.turnstile import Turnstile
from quire.bridges.pygents.declared import DeclaredHook, HookType, ToolHook, fitting, now_of
from quire.bridges.pygents.hook_lists import checked_hooks
from quire.bridges.pygents.hooked import NOWHERE
from quire.bridges.pygents.listening import Called, Listening
from quire.bridges.pygents.registry import ToolRegistry
from quire.errors import WrongType, cut
from quire.session import Called as ToolCalled, Calling, Failure

logger = logging.getLogger("quire.bridges")

Fill = Callable[["Tool", tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
"""Fills in what an agent has for a call of a tool."""


class _Invoking(NamedTuple):
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class _Yielded(NamedTuple):
    value: Any


@dataclass(frozen=True)
class ToolMetadata:
    """What a tool is called, and what its docstring says."""

    name: str
    description: str | None


class Tool:
    """An async function or generator. Called, it is the function with its fixed arguments, lock and hooks."""

    _events: Mapping[HookType, type] = {
        ToolHook.BEFORE_INVOKE: Calling,
        ToolHook.ON_YIELD: _Yielded,
        ToolHook.AFTER_INVOKE: ToolCalled,
    }

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        lock: bool = False,
        hooks: Iterable[DeclaredHook] | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.is_generator = inspect.isasyncgenfunction(function)
        if not self.is_generator and not inspect.iscoroutinefunction(function):
            raise WrongType("a tool is an async function or an async generator")
        self.function = function
        self.name = self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.metadata = ToolMetadata(self.name, inspect.getdoc(function))
        self.hooks = list(checked_hooks(hooks))
        self._fixed = fitting(function, fixed or {}, f"tool {cut(self.name)!r}")
        self._turnstile = Turnstile() if lock else None
        self._listening = Listening(lambda: self.hooks, self._events, _told)

    def __repr__(self) -> str:
        return f"<tool {self.name!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: to be awaited, or looped over if it is a generator."""
        return self._yielding(args, kwargs) if self.is_generator else self._returning(args, kwargs)

    @property
    def failures(self) -> list[Failure]:
        """What failed of its hooks after the fact, the latest last."""
        return list(self._listening.failures)

    def for_engine(self, fill: Fill) -> EngineTool:
        """The engine's tool that calls this one; what was broken off is run again, as here all turns are."""

        async def returning(args: Any, kwargs: Any) -> Any:
            args, kwargs = fill(self, args, kwargs)
            return await self(*args, **kwargs)

        async def yielding(args: Any, kwargs: Any) -> AsyncGenerator[Any, None]:
            args, kwargs = fill(self, args, kwargs)
            async with aclosing(self(*args, **kwargs)) as values:
                async for value in values:
                    yield value

        called = yielding if self.is_generator else returning
        return engine_tool(called, name=self.name, idempotent=True)

    async def _returning(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        async with self._one_at_a_time():
            kwargs = self._with_fixed(kwargs)
            await self._tell_before(args, kwargs)
            result = await self.function(*args, **kwargs)
            await self._tell_after(result)
            return result

    async def _yielding(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncGenerator[Any, None]:
        async with self._one_at_a_time():
            kwargs, last = self._with_fixed(kwargs), None
            await self._tell_before(args, kwargs)
            async with aclosing(self.function(*args, **kwargs)) as values:
                async for last in values:
                    await self._listening.hear(_Yielded(last))
                    yield last
            await self._tell_after(last)

    async def _tell_before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        await self._listening.hear(Calling(NOWHERE, self.name, _Invoking(args, kwargs)))

    async def _tell_after(self, result: Any) -> None:
        await self._listening.hear(ToolCalled(NOWHERE, self.name, None, result))

    def _with_fixed(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = sorted(set(self._fixed) & set(kwargs))
        if given:
            logger.warning("tool %s is called with its own %s", self.name, ", ".join(given))
        fixed = {name: now_of(value) for name, value in self._fixed.items() if name not in kwargs}
        return {**fixed, **kwargs}

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncGenerator[None, None]:
        if self._turnstile is None:
            yield
            return
        await self._turnstile.enter()
        try:
            yield
        finally:
            self._turnstile.leave()


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    lock: bool = False,
    hooks: Iterable[DeclaredHook] | None = None,
    **fixed: Any,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    lock: bool = False,
    hooks: Iterable[DeclaredHook] | None = None,
    **fixed: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare an async function or generator as a tool, known by its name from then on.

    With `lock` it runs once at a time. `fixed` are keywords for every call; one that is a function is called
    for its value each time.
    """

    def declared(function: Callable[..., Any]) -> Tool:
        made = Tool(function, lock=lock, hooks=hooks, fixed=fixed)
        ToolRegistry.register(made)
        return made

    return declared if function is None else declared(function)


def _told(event: Any) -> Called:
    match event:
        case Calling():
            return Called(event.arguments.args, event.arguments.kwargs)
        case ToolCalled():
            return Called((event.result,))
        case _:
            return Called((event.value,))
