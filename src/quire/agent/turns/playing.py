"""Playing one turn: its tool is called, each value is kept where it belongs, and only then handed on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from time import monotonic
from typing import Any

from quire.agent.tools import Tool
from quire.agent.turns.errand import Errand, Late
from quire.agent.turns.events import Cancelled, Completed, Failed, Gave, TimedOut, TurnHooks
from quire.agent.turns.turn import Turn
from quire.agent.turns.values import bound_to, given_by
from quire.errors import TurnTimeout, cut
from quire.session import Session
from quire.state import Pool

Take = Callable[[Any], Awaitable[None]]
"""Keeps a value where it belongs."""


async def nowhere(_value: Any) -> None:
    """Keep nothing."""


class Player:
    """Plays turns of tools, for a session or a pool that tools may read."""

    def __init__(
        self,
        hooks: TurnHooks,
        take: Take = nowhere,
        *,
        session: Session | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._hooks = hooks
        self._take = take
        self._session = session
        self._pool = pool

    async def play(self, turn: Turn, tool: Tool) -> AsyncGenerator[Any, None]:
        """The values of a turn. How it ends is written on it, and what its tool raises is raised here."""
        turn.begin()
        try:
            async with aclosing(self._values(turn, tool)) as values:
                async for value in values:
                    yield value
        except (GeneratorExit, asyncio.CancelledError):
            if turn.is_running:
                turn.end("cancelled")
                await self._hooks.hear(Cancelled(turn))
            raise
        except TurnTimeout as fault:
            turn.end("timeout", fault)
            await self._hooks.hear(TimedOut(turn))
            raise
        except BaseException as fault:
            turn.end("error", fault)
            await self._hooks.hear(Failed(turn, fault))
            raise

    async def _values(self, turn: Turn, tool: Tool) -> AsyncGenerator[Any, None]:
        bound = bound_to(tool, turn.arguments, self._session, self._pool)
        time = _Time(tool.timeout if turn.timeout is None else turn.timeout)
        async with aclosing(Errand(given_by(tool, bound))) as errand:
            while (given := await time.spent_on(errand)) is not None:
                await self._take(given.value)
                turn.give(given.value, is_whole=given.is_whole)
                if given.is_whole:
                    await errand.aclose()  # it has ended: who leaves now leaves nothing undone
                    await self._give_last(turn, given.value)
                else:
                    await self._hooks.hear(Gave(turn, given.value))
                yield given.value
                if given.is_whole:
                    return
        turn.output = turn.output or []
        turn.end("completed")
        await self._hooks.hear(Completed(turn))

    async def _give_last(self, turn: Turn, value: Any) -> None:
        await self._hooks.hear(Gave(turn, value))
        turn.end("completed")
        await self._hooks.hear(Completed(turn))


class _Time:
    """The seconds that a tool may work; those that others take with what it gives do not count."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._left = seconds

    async def spent_on(self, errand: Errand) -> Any:
        began = monotonic()
        try:
            return await errand.next(self._left)
        except Late:
            words = f"the turn took longer than {self._seconds:g} seconds"
            raise TurnTimeout(cut(words)) from None
        finally:
            if self._left is not None:
                self._left = max(self._left - (monotonic() - began), 0)
