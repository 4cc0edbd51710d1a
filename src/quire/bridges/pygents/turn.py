"""Tools, and turns: one call of a tool with its arguments, its timeout and its result."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from time import monotonic
from typing import Any, Generic, Self, TypeVar, cast, overload

import msgspec

from quire.bridges.kit import read_saved
from quire.bridges.pygents.context import fit_for_json, is_item
from quire.bridges.pygents.hooks import (
    AnyHook,
    Callback,
    Hooked,
    Registry,
    ToolHook,
    TurnHook,
    evaluated,
    registered_hooks,
)
from quire.errors import InvalidLimit, QuireError, TurnBusy, UnknownKey, WrongType, cut
from quire.items import now
from quire.tokens import number

T = TypeVar("T")

_TIMEOUT_SECONDS = 60.0


class SafeExecutionError(TurnBusy):
    """A turn or an agent is running, and cannot be run again or changed now."""


class TurnTimeoutError(QuireError, TimeoutError):
    """A turn took longer than its timeout."""


class UnregisteredToolError(UnknownKey):
    """No tool of this name is registered in this process."""


class WrongRunMethodError(WrongType):
    """`returning` is for tools that return, `yielding` for tools that yield."""


# Tools


class Tool(Callback, Hooked):
    """An async function or generator, with a lock, fixed arguments and hooks."""

    def __init__(
        self,
        fn: Callable[..., Any],
        lock: bool = False,
        hooks: Iterable[AnyHook] | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.is_generator = inspect.isasyncgenfunction(fn)
        if not self.is_generator and not inspect.iscoroutinefunction(fn):
            raise WrongType("a tool must be an async function or an async generator")
        Callback.__init__(self, fn, lock, fixed or {})
        Hooked.__init__(self, hooks)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: await the result, or loop over it if the tool is a generator."""
        return self._yield(args, kwargs) if self.is_generator else self._return(args, kwargs)

    async def _return(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        async with self._lock:
            kwargs = self._with_fixed(kwargs)
            await self._run_hooks(ToolHook.BEFORE_INVOKE, *args, **kwargs)
            result = await self.fn(*args, **kwargs)
            await self._run_hooks(ToolHook.AFTER_INVOKE, result)
            return result

    async def _yield(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncGenerator[Any, None]:
        async with self._lock:
            kwargs, last = self._with_fixed(kwargs), None
            await self._run_hooks(ToolHook.BEFORE_INVOKE, *args, **kwargs)
            async with aclosing(self.fn(*args, **kwargs)) as values:
                async for last in values:
                    await self._run_hooks(ToolHook.ON_YIELD, last)
                    yield last
            await self._run_hooks(ToolHook.AFTER_INVOKE, last)


ToolRegistry: Registry[Tool] = Registry("tool", UnregisteredToolError)
"""Where turns and agents find tools by name."""


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    fn: None = None, /, *, lock: bool = False, hooks: Iterable[AnyHook] | None = None, **fixed: Any
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    lock: bool = False,
    hooks: Iterable[AnyHook] | None = None,
    **fixed: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare an async function or generator as a tool, and register it by its name.

    With `lock`, calls run one at a time. `fixed` are keyword arguments of every call; a function among them
    is called each time for its value.
    """

    def declare(fn: Callable[..., Any]) -> Tool:
        declared = Tool(fn, lock, hooks, fixed)
        ToolRegistry.register(declared)
        return declared

    return declare if fn is None else declare(fn)


# Turns


class StopReason(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    ERROR = "error"
    CANCELLED = "cancelled"


@dataclass
class TurnMetadata:
    """When a turn started and ended, in UTC, and how."""

    start_time: datetime | None = None
    end_time: datetime | None = None
    stop_reason: StopReason | None = None


class SavedTurn(msgspec.Struct):
    """A saved turn."""

    tool_name: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    timeout: float | None = _TIMEOUT_SECONDS
    metadata: TurnMetadata = msgspec.field(default_factory=TurnMetadata)
    output: Any = None
    hooks: dict[str, list[str]] = {}


class Turn(Hooked, Generic[T]):
    """One call of a registered tool, given itself or by name. It calls functions among its arguments.

    The timeout is for the tool alone: time that the consumer of its values takes does not count.
    """

    _is_running = False

    def __init__(
        self,
        tool: Tool | str,
        timeout: float | None = _TIMEOUT_SECONDS,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        hooks: Iterable[AnyHook] | None = None,
    ) -> None:
        super().__init__(hooks)
        self.tool = ToolRegistry.get(tool if isinstance(tool, str) else tool.name)
        self.timeout = timeout
        self.args = list(args or ())
        self.kwargs = dict(kwargs or {})
        self.output: Any = None
        self.metadata = TurnMetadata()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_running and name in ("tool", "timeout", "args", "kwargs", "hooks"):
            raise SafeExecutionError(f"{name!r} cannot change while the turn is running")
        if name == "timeout" and value is not None and number(value, "a timeout", 0) == 0:
            raise InvalidLimit("a timeout must be more than 0 seconds; None means no timeout")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Turn(tool={self.tool.name!r}, timeout={self.timeout}, metadata={self.metadata})"

    @property
    def is_running(self) -> bool:
        """Whether the turn is running."""
        return self._is_running

    async def returning(self) -> T:
        """Run a tool that returns, and return its result."""
        if self.tool.is_generator:
            raise WrongRunMethodError(f"tool {cut(self.tool.name)!r} yields: use yielding()")
        async with aclosing(self.values()) as values:
            result: T = await anext(values)
            return result

    async def yielding(self) -> AsyncGenerator[Any, None]:
        """Run a tool that yields, and yield its values."""
        if not self.tool.is_generator:
            raise WrongRunMethodError(f"tool {cut(self.tool.name)!r} returns: use returning()")
        async with aclosing(self.values()) as values:
            async for value in values:
                yield value

    async def values(self, context: Mapping[str, Any] | None = None) -> AsyncGenerator[Any, None]:
        """Run the tool, and yield its result or its values; `context` has further arguments by name."""
        if self._is_running:
            raise SafeExecutionError("the turn is running already")
        await self._run_hooks(TurnHook.BEFORE_RUN, self)
        self.output = None
        self.metadata = TurnMetadata(start_time=_now())
        self._is_running = True
        try:
            args, kwargs = self._arguments()
            call = self.tool(*args, **{**(context or {}), **kwargs})
            async with aclosing(
                self._yielded(call) if self.tool.is_generator else self._returned(call)
            ) as values:
                async for value in values:
                    yield value
        except (GeneratorExit, asyncio.CancelledError):
            if self._is_running:
                self._end(StopReason.CANCELLED)
            raise
        except TurnTimeoutError:
            self._end(StopReason.TIMEOUT)
            await self._run_hooks(TurnHook.ON_TIMEOUT, self)
            raise
        except Exception as fault:
            self._end(StopReason.ERROR)
            await self._run_hooks(TurnHook.ON_ERROR, self, fault)
            raise

    def copy(self) -> Self:
        """The same turn, not yet run."""
        return type(self)(self.tool, self.timeout, self.args, self.kwargs, self.hooks)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; the tool and the hooks by name."""
        return fit_for_json(self.fields())

    def fields(self) -> dict[str, Any]:
        """What is saved, before it is made fit for JSON."""
        args, kwargs = self._arguments()
        return {
            "tool_name": self.tool.name,
            "args": args,
            "kwargs": kwargs,
            "timeout": self.timeout,
            "metadata": msgspec.to_builtins(self.metadata),
            "output": _fields_in(self.output),
            "hooks": self._hook_names(),
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The turn that `to_dict` wrote, to be run again if it was running; only `tool_name` is required.

        A `ContextItem` in its output is read as a dictionary.
        """
        saved = read_saved(data, SavedTurn)
        hooks = registered_hooks(saved.hooks)
        turn = cls(saved.tool_name, saved.timeout, saved.args, saved.kwargs, hooks)
        if saved.metadata.end_time is not None:
            turn.metadata, turn.output = saved.metadata, saved.output
        return turn

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, with those that are functions evaluated."""
        args = [evaluated(value) for value in self.args]
        return args, {name: evaluated(value) for name, value in self.kwargs.items()}

    async def _returned(self, call: Any) -> AsyncGenerator[Any, None]:
        self.output, _ = await self._within(self.timeout, call)
        self._end(StopReason.COMPLETED)
        await self._run_hooks(TurnHook.AFTER_RUN, self)
        yield self.output

    async def _yielded(self, call: Any) -> AsyncGenerator[Any, None]:
        output: list[Any] = []
        seconds_left = self.timeout
        async with aclosing(call) as values:
            while True:
                try:
                    value, seconds_left = await self._within(seconds_left, anext(values))
                except StopAsyncIteration:
                    break
                output.append(value)
                await self._run_hooks(TurnHook.ON_VALUE, self, value)
                yield value
        self.output = output
        self._end(StopReason.COMPLETED)
        await self._run_hooks(TurnHook.AFTER_RUN, self)

    async def _within(self, seconds: float | None, work: Any) -> tuple[Any, float | None]:
        """Await some work for at most `seconds`; return its value, and the seconds that are left."""
        started = monotonic()
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                value = await work
        except TimeoutError:
            if not limit.expired():
                raise  # the tool raised it
            raise TurnTimeoutError(f"the turn timed out after {self.timeout}s") from None
        return value, None if seconds is None else max(seconds - (monotonic() - started), 0)

    def _end(self, reason: StopReason) -> None:
        self._is_running = False
        self.metadata.end_time = _now()
        self.metadata.stop_reason = reason


def _fields_in(output: Any) -> Any:
    """An output with a dictionary of fields in place of each `ContextItem`."""
    if isinstance(output, list):
        return [_fields_in(element) for element in cast("Iterable[Any]", output)]
    return output.fields() if is_item(output) else output


def _now() -> datetime:
    return datetime.fromtimestamp(now(), UTC)
