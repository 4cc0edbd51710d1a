"""What a tool gives, value by value and as it is: in a thread where its function is a plain one."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple

from quire.agent.tools.signature import Bound
from quire.agent.tools.strand import Strand
from quire.agent.tools.tool import Tool


class Given(NamedTuple):
    """One value, and whether it is all that the tool returned, or one of those it yields."""

    value: Any
    is_whole: bool


class Raised(Exception):
    """What was raised in a thread: not everything may be raised again where it is awaited."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__()
        self.fault = fault


class _NoMore:
    """Stands for the end of an iterator."""


class _Settled(NamedTuple):
    """A value that was seen to in the thread that made it."""

    value: Any


@asynccontextmanager
async def turn_of(tool: Tool) -> AsyncGenerator[Strand, None]:
    """Wait for the tool's turn, where it is called one at a time; the thread that its function may run in."""
    strand, turnstile = Strand(), tool.turnstile
    if turnstile is not None:
        await turnstile.enter()
    try:
        yield strand
    finally:
        # A thread cannot be stopped: the next one goes through only when this one is really done.
        strand.end(turnstile.leave if turnstile is not None else _nothing)


async def values_of(
    tool: Tool, bound: Bound, strand: Strand, see_to: Callable[[Any], Any] = lambda value: value
) -> AsyncGenerator[Given, None]:
    """Call a tool, and give what it returns or all that it yields.

    `see_to` is done to what a tool returns; if its function is a plain one, in the thread: it may be large.
    """
    call = partial(tool.function, *bound.args, **bound.kwargs)
    value: Any = call() if tool.kind != "plain" else await _in(strand, partial(_settled, call, see_to))
    while isawaitable(value):
        value = await value
    if isinstance(value, _Settled):
        yield Given(value.value, True)
    elif isinstance(value, AsyncIterable | Iterator):
        each = value if isinstance(value, AsyncIterable) else _each(strand, value)  # pyright: ignore
        async with _closing(each) as values:
            async for one in values:
                yield Given(one, False)
    else:
        yield Given(see_to(value), True)


def _settled(call: Callable[[], Any], see_to: Callable[[Any], Any]) -> Any:
    value: Any = call()
    if isawaitable(value) or isinstance(value, AsyncIterable | Iterator):
        return value  # pyright: ignore[reportUnknownVariableType]
    return _Settled(see_to(value))


async def _each(strand: Strand, values: Iterator[Any]) -> AsyncGenerator[Any, None]:
    try:
        while (value := await _in(strand, partial(next, values, _NoMore))) is not _NoMore:
            yield value
    finally:
        close = getattr(values, "close", None)
        if callable(close):
            strand.later(close)


async def _in(strand: Strand, function: Callable[[], Any]) -> Any:
    ended = await strand.do(function)
    if ended.fault is not None:
        raise Raised(ended.fault)
    return ended.value


def _closing(values: Any) -> aclosing[Any]:
    return aclosing(values if hasattr(values, "aclose") else _passed_on(values))


async def _passed_on(values: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    async for value in values:
        yield value


def _nothing() -> None:
    pass
