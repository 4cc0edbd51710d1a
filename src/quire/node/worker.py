"""One conversation of one agent on a node: its turns one after the other, in the order they were sent."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Literal, Unpack

from quire.agent import Agent, Asking, Delta, Input, Reply
from quire.errors import Stopped
from quire.items import now

State = Literal["idle", "running", "waiting"]
"""What a conversation does: nothing, answering, or waiting for a person."""


class Worker:
    """An agent of one conversation. It is made when it is first needed, and answers one message at a time."""

    def __init__(self, make: Callable[[], Agent]) -> None:
        self._make = make
        self._agent: Agent | None = None
        self._turn = asyncio.Lock()  # who waits longest comes first
        self._is_stopped = False
        self._sent = 0
        self.used_at = now()

    @property
    def agent(self) -> Agent:
        """The agent."""
        if self._agent is None:
            self._agent = self._make()
        return self._agent

    @property
    def is_busy(self) -> bool:
        """Whether a message is answered, or waits for it."""
        return self._sent > 0

    @property
    def state(self) -> State:
        """What the conversation does."""
        if self.is_busy:
            return "running"
        return "waiting" if self.agent.session.standing() else "idle"

    async def send(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """The answer to a message, once those before it are answered."""
        self._sent += 1
        try:
            async with self._turn:
                self._refuse_if_stopped()
                return await self.agent.ask(input, **asking)
        finally:
            self._left()

    async def send_stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `send` does, told as it comes."""
        self._sent += 1
        try:
            async with self._turn:
                self._refuse_if_stopped()
                deltas = self.agent.stream(input, **asking)
                try:
                    async for delta in deltas:
                        yield delta
                finally:
                    await deltas.aclose()
        finally:
            self._left()

    async def stop(self, grace: float, hurry: asyncio.Event) -> None:
        """Let the message that is answered come to its end, for so many seconds; the others are refused."""
        self._is_stopped = True
        if self._agent is None:
            return
        idle, hurried = asyncio.ensure_future(self._idle()), asyncio.ensure_future(hurry.wait())
        await asyncio.wait((idle, hurried), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if not idle.done():
            await self._agent.interrupt()
        for one in (idle, hurried):
            one.cancel()
        await asyncio.gather(idle, hurried, return_exceptions=True)
        await self._agent.session.close("hand over")

    async def _idle(self) -> None:
        """Wait until no message is being answered."""
        async with self._turn:
            pass

    def _refuse_if_stopped(self) -> None:
        if self._is_stopped:
            raise Stopped("the node was stopped before this message was begun")

    def _left(self) -> None:
        self._sent -= 1
        self.used_at = now()
