"""One call of a function: in a thread where it is a plain one, and what it gives taken in as it comes."""

from collections.abc import AsyncIterable, Iterator
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple

from quire.agent.tools.gathering import Gathering
from quire.agent.tools.outputs import Piece, pieces_of
from quire.agent.tools.signature import Bound
from quire.agent.tools.strand import Strand
from quire.agent.tools.tool import Tool


class _Pieces(NamedTuple):
    """A value in pieces already: a large one is taken apart in the thread that made it."""

    pieces: tuple[Piece, ...]


class _Raised(Exception):
    """What was raised in a thread: not everything may be raised again where it is awaited."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__()
        self.fault = fault


class _NoMore:
    """Stands for the end of an iterator."""


class Call:
    """One call of a tool, and what became of it so far."""

    def __init__(self, tool: Tool, bound: Bound, gathering: Gathering) -> None:
        self._tool = tool
        self._bound = bound
        self._gathering = gathering
        self._strand = Strand()
        self.fault: BaseException | None = None
        self.has_begun = False

    async def run(self) -> None:
        """Wait for the tool's turn, call it, and take in all that it gives; what it raises is its `fault`."""
        turnstile = self._tool.turnstile
        if turnstile is not None:
            await turnstile.enter()
        try:
            self.has_begun = True
            await self._called()
        except _Raised as raised:
            self.fault = raised.fault
        except (Exception, SystemExit) as fault:  # a tool may not end the program either
            self.fault = fault
        finally:
            # A thread cannot be stopped: the next one goes through only when this one is really done.
            self._strand.end(turnstile.leave if turnstile is not None else _nothing)

    async def _called(self) -> None:
        call = partial(self._tool.function, *self._bound.args, **self._bound.kwargs)
        value: Any = call() if self._tool.kind != "plain" else await self._in_thread(partial(_settled, call))
        while isawaitable(value):
            value = await value
        if isinstance(value, _Pieces):
            await self._gathering.take(value.pieces, at_once=False)
        elif isinstance(value, AsyncIterable):
            await self._each_awaited(value)
        elif isinstance(value, Iterator):
            await self._each(value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            await self._gathering.take(pieces_of(value), at_once=False)

    async def _each_awaited(self, values: Any) -> None:
        if not hasattr(values, "aclose"):
            async for value in values:
                await self._gathering.take(pieces_of(value), at_once=True)
            return
        async with aclosing(values):
            async for value in values:
                await self._gathering.take(pieces_of(value), at_once=True)

    async def _each(self, values: Iterator[Any]) -> None:
        try:
            while (value := await self._in_thread(partial(next, values, _NoMore))) is not _NoMore:
                await self._gathering.take(pieces_of(value), at_once=True)
        finally:
            close = getattr(values, "close", None)
            if callable(close):
                self._strand.later(close)

    async def _in_thread(self, function: Any) -> Any:
        ended = await self._strand.do(function)
        if ended.fault is not None:
            raise _Raised(ended.fault)
        return ended.value


def _settled(call: Any) -> Any:
    value: Any = call()
    is_still_to_come = isawaitable(value) or isinstance(value, AsyncIterable | Iterator)
    return value if is_still_to_come else _Pieces(tuple(pieces_of(value)))  # pyright: ignore


def _nothing() -> None:
    pass
