"""The calls of one reply side by side, and what they give on the record in their order."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from quire.agent.closing import refused
from quire.agent.reply import Began, Ended
from quire.agent.run import Tell
from quire.agent.unbroken import ended, unbroken
from quire.items import Item, ToolCall, ToolResult
from quire.session import Session

Making = Coroutine[Any, Any, Sequence[Item]]
"""Makes of a call that has ended what is recorded for it: its result, and what came with it."""

Keep = Callable[[Making], Awaitable[ToolResult]]
"""Records what is made, whatever is cancelled meanwhile, and gives the result."""

Do = Callable[[ToolCall, Keep], Awaitable[ToolResult]]
"""Runs a call, and has what came of it kept."""


class InOrder:
    """Runs calls side by side. What ends before its turn is held on the record until it comes.

    Whatever breaks it off, what had ended is recorded or held when it is over, and nobody writes any more.
    """

    def __init__(self, session: Session, calls: Sequence[ToolCall], tell: Tell, recorded: list[Item]) -> None:
        """What is on the record is added to `recorded`, also where it is broken off."""
        self._session = session
        self._calls = calls
        self._tell = tell
        self._recorded = recorded
        self._ended: dict[int, Sequence[Item]] = {}
        self._next = 0
        self._recording = asyncio.Lock()

    async def run(self, do: Do) -> None:
        """Run all of them."""
        if len(self._calls) == 1:
            await self._one(0, do)
            return
        tasks = [asyncio.ensure_future(self._one(place, do)) for place in range(len(self._calls))]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await ended(*tasks)
            raise

    async def _one(self, place: int, do: Do) -> None:
        call = self._calls[place]
        await self._tell(Began(call))
        result = await do(call, lambda making: unbroken(self._kept(place, making)))
        await self._tell(Ended(result))

    async def _kept(self, place: int, making: Making) -> ToolResult:
        result, *others = await making
        assert isinstance(result, ToolResult)
        recorded = await self._record(place, result, *others)
        assert isinstance(recorded, ToolResult)
        return recorded

    async def _record(self, place: int, result: ToolResult, *others: Item) -> Item:
        async with self._recording:
            if place != self._next:
                call = self._calls[place]
                self._ended[place] = await self._session.hold(result, *others, of=call, instead=refused)
                return self._ended[place][0]
            self._ended[place] = (result, *others)
            due: list[Item] = []
            first = self._next
            while self._next in self._ended:
                due += self._ended.pop(self._next)
                self._next += 1
            answered = self._calls[first : self._next]
            recorded = await self._session.answer(answered, *due, instead=refused)
            self._recorded += recorded
            return recorded[0]
