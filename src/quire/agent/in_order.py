"""The calls of one reply side by side, and what they give on the record in their order."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping, Sequence
from typing import Any

from quire.agent.calling import written
from quire.agent.closing import answered
from quire.agent.reply import Began, Ended
from quire.agent.run import Tell
from quire.agent.unbroken import ended, unbroken
from quire.errors import Conflict, cut
from quire.items import Item, ToolCall, ToolResult
from quire.session import Session

Making = Coroutine[Any, Any, Sequence[Item]]
"""Makes of a call that has ended what is recorded for it: its result, and what came with it."""

Keep = Callable[[Making], Awaitable[ToolResult]]
"""Records what is made, whatever is cancelled meanwhile, and gives the result."""

Due = tuple[ToolCall, Sequence[Item]]
"""A call, and what is recorded for it."""

Do = Callable[[ToolCall, Keep], Awaitable[ToolResult]]
"""Runs a call, and has what came of it kept."""


class InOrder:
    """Runs calls side by side. What ends before its turn is held on the record until it comes.

    Whatever breaks it off, what had ended is recorded or held when it is over, and nobody writes any more.
    That another answered one of them first breaks off none: it is an error once all have ended.
    """

    def __init__(self, session: Session, calls: Sequence[ToolCall], tell: Tell, recorded: list[Item]) -> None:
        """What is on the record is added to `recorded`, also where it is broken off."""
        self._session = session
        self._calls = calls
        self._tell = tell
        self._recorded = recorded
        self._ended: dict[int, Sequence[Item]] = {}
        self._next = 0
        self._conflict: Conflict | None = None
        self._recording = asyncio.Lock()

    async def run(self, do: Do, first: Container[str] = ()) -> None:
        """Run all of them, and those of some ids before the others: what is known of them is kept by then."""
        places = range(len(self._calls))
        await self._side_by_side([place for place in places if self._calls[place].id in first], do)
        await self._side_by_side([place for place in places if self._calls[place].id not in first], do)
        if self._conflict is not None:
            raise self._conflict

    async def _side_by_side(self, places: Sequence[int], do: Do) -> None:
        if len(places) == 1:
            await self._one(places[0], do)
            return
        tasks = [asyncio.ensure_future(self._one(place, do)) for place in places]
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
        try:
            result = await do(call, lambda making: unbroken(self._kept(place, making)))
        except Conflict as fault:
            self._conflict = fault
        else:
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

                async def hold(*items: Any, **options: Any) -> tuple[Item, ...]:
                    held = await self._session.steps.hold(*items, of=call, **options)
                    self._ended[place] = held
                    return held

                return (await written(hold, result, *others))[0]
            due: list[Due] = [(self._calls[place], ())]
            self._next += 1
            while self._next in self._ended:
                due.append((self._calls[self._next], self._ended.pop(self._next)))
                self._next += 1

            async def answer(*items: Item, **options: Any) -> tuple[Item, ...]:
                due[0] = (self._calls[place], items)
                recorded, lost = await answered(self._session, lambda: self._answered(due, options))
                self._recorded += recorded
                if lost:
                    self._conflict = Conflict(f"call {cut(lost[0].call_id)!r} was answered by another first")
                    if lost[0] is self._calls[place]:
                        raise self._conflict
                return recorded

            return (await written(answer, result, *others))[0]

    async def _answered(
        self, due: Sequence[Due], options: Mapping[str, Any]
    ) -> tuple[tuple[Item, ...], list[ToolCall]]:
        """Record what is due, but for calls that another has answered by now; these come second."""
        waiting = {call.id for call in self._session.view().pending()}
        left = [(call, came) for call, came in due if call.id in waiting]
        lost = [call for call, _ in due if call.id not in waiting]
        items = [item for _, came in left for item in came]
        if not left:
            return (), lost
        return await self._session.steps.answer([call for call, _ in left], *items, **options), lost
