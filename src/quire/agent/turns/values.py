"""What a tool gives, value by value and as it is: nothing is turned into words for a model."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple

from quire.agent.tools import Tool
from quire.agent.tools.injecting import values_for
from quire.agent.tools.shapes import Misfit
from quire.agent.tools.signature import Bound
from quire.agent.tools.strand import Strand
from quire.errors import InvalidValue
from quire.session import Session
from quire.state import Pool


class Given(NamedTuple):
    """One value, and whether it is all that the tool returned, or one of those it yields."""

    value: Any
    is_whole: bool


class _NoMore:
    """Stands for the end of an iterator."""


def bound_to(tool: Tool, arguments: Mapping[str, Any], session: Session | None, pool: Pool | None) -> Bound:
    """The arguments of a turn as the function takes them.

    Other than a model, code may hand in a pool or a session itself; of a pool the tool gets a copy.
    """
    signature = tool.signature
    own = {name: value for name, value in arguments.items() if name in signature.injected}
    try:
        read = signature.read({name: value for name, value in arguments.items() if name not in own})
    except Misfit as fault:
        raise InvalidValue(f"the turn of {tool.name} was not run: {fault}") from None
    wanted = {name: kind for name, kind in signature.injected.items() if name not in own}
    copies = {name: value.fork() if isinstance(value, Pool) else value for name, value in own.items()}
    return signature.bind({**read, **signature.fixed, **values_for(wanted, session, pool), **copies})


async def values_of(tool: Tool, bound: Bound) -> AsyncGenerator[Given, None]:
    """Call a tool, one at a time where it says so, and give what it returns or all that it yields."""
    strand = Strand()
    if tool.turnstile is not None:
        await tool.turnstile.enter()
    try:
        call = partial(tool.function, *bound.args, **bound.kwargs)
        value: Any = call() if tool.kind != "plain" else await _in(strand, call)
        while isawaitable(value):
            value = await value
        if not isinstance(value, AsyncIterable | Iterator):
            yield Given(value, True)
            return
        each = value if isinstance(value, AsyncIterable) else _each(strand, value)  # pyright: ignore
        async with _closing(each) as values:
            async for one in values:
                yield Given(one, False)
    finally:
        # A thread cannot be stopped: the next one goes through only when this one is really done.
        strand.end(tool.turnstile.leave if tool.turnstile is not None else _nothing)


async def _each(strand: Strand, values: Iterator[Any]) -> AsyncGenerator[Any, None]:
    try:
        while (value := await _in(strand, partial(next, values, _NoMore))) is not _NoMore:
            yield value
    finally:
        close = getattr(values, "close", None)
        if callable(close):
            strand.later(close)


async def _in(strand: Strand, function: Any) -> Any:
    ended = await strand.do(function)
    if ended.fault is not None:
        raise ended.fault
    return ended.value


def _closing(values: Any) -> aclosing[Any]:
    return aclosing(values if hasattr(values, "aclose") else _passed_on(values))


async def _passed_on(values: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    async for value in values:
        yield value


def _nothing() -> None:
    pass
