"""One conversation of one agent on a node: its turns one after the other, in the order they were sent."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal, Unpack
from weakref import WeakSet

from quire.agent import Agent, Asking, Decisions, Delta, Input, Reply
from quire.agent.builtin.crew import members_of
from quire.agent.run import refuse_from_within
from quire.errors import Stopped
from quire.items import ToolCall, now
from quire.node.telling import Telling
from quire.stores.store import is_tombstone

State = Literal["idle", "running", "waiting"]
"""What a conversation does: nothing, answering, or waiting for a person."""

_LAST_WORDS = 0.2
"""Seconds in which those who listen may hear that an answer was interrupted."""


class Worker:
    """An agent of one conversation. It is made when it is first needed, and answers one message at a time."""

    def __init__(self, make: Callable[[], Agent]) -> None:
        self._make = make
        self._agent: Agent | None = None
        self._turn = asyncio.Lock()  # who waits longest comes first
        self._is_stopped = False
        self._tellings: WeakSet[Telling] = WeakSet()  # each is held by who listens
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
        if self._is_running:
            return "running"
        return "waiting" if self._asked() else "idle"

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that a person is to answer or to approve of."""
        return () if self._is_running else self._asked()

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the conversations of those that work for the agent."""
        above = self.agent.session.place.conversation
        return tuple(f"{above}/{name}" for name in members_of(self.agent))

    async def send(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """The answer to a message, once those before it are answered."""
        return await self._answer(lambda agent: agent.ask(input, **asking))

    async def decide(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """Say of calls that wait whether they may be run, after the messages before; then go on."""
        return await self._answer(lambda agent: agent.decide(decisions, **asking))

    def send_stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `send` does, told as it comes."""
        return self._told(lambda agent: agent.stream(input, **asking))

    def decide_stream(self, decisions: Decisions, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `decide` does, told as it comes."""
        return self._told(lambda agent: agent.decide_stream(decisions, **asking))

    async def stop(
        self, grace: float, hurry: asyncio.Event, stopping: "asyncio.Task[Any] | None" = None
    ) -> None:
        """Let the message that is answered be heard to its end, for so many seconds; the others are refused.

        The task that is `stopping` may be one that listens: it is not waited for.
        """
        self._is_stopped = True
        if self._agent is None:
            return
        idle, hurried = asyncio.ensure_future(self._idle(stopping)), asyncio.ensure_future(hurry.wait())
        await asyncio.wait((idle, hurried), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if not idle.done():
            await self._agent.interrupt()
            await asyncio.wait([idle], timeout=_LAST_WORDS)  # who keeps up hears that it was interrupted
        for one in (idle, hurried):
            one.cancel()
        await asyncio.gather(idle, hurried, return_exceptions=True)
        await self._agent.session.aio.close("hand over")

    @property
    def _is_running(self) -> bool:
        return self.is_busy or self.agent.session.steps.at_work is not None

    def _asked(self) -> tuple[ToolCall, ...]:
        # What was begun when a process ended waits for nobody, nor what was forgotten: the next message says
        # what became of it.
        session = self.agent.session
        session.refresh()  # another process may have asked or decided meanwhile
        standing = session.steps.standing()
        return tuple(call for call, how in standing if how == "waiting" and not is_tombstone(call))

    async def _idle(self, stopping: "asyncio.Task[Any] | None") -> None:
        """Wait until no message is being answered, and those who listen have heard the answers."""
        async with self._turn:
            pass
        await asyncio.gather(*(telling.heard(stopping) for telling in self._tellings))

    async def _answer(self, ask: Callable[[Agent], Awaitable[Reply]]) -> Reply:
        agent = await self._take_turn()
        try:
            return await ask(agent)
        finally:
            self._end_turn()

    async def _told(
        self, begin: Callable[[Agent], AsyncGenerator[Delta, None]]
    ) -> AsyncGenerator[Delta, None]:
        agent = await self._take_turn()
        telling = Telling(lambda: begin(agent), self._end_turn)
        self._tellings.add(telling)
        try:
            while (delta := await telling.next()) is not None:
                yield delta
        finally:
            await telling.stop()

    async def _take_turn(self) -> Agent:
        """The agent, once those before are answered. Whoever has it ends the turn."""
        self._arrive()
        try:
            await self._turn.acquire()
        except BaseException:
            self._leave()
            raise
        try:
            return self._ready()
        except BaseException:
            self._end_turn()
            raise

    def _end_turn(self) -> None:
        self._turn.release()
        self._leave()

    def _arrive(self) -> None:
        if self._agent is not None:
            refuse_from_within(self._agent.session)  # it would wait for itself
        self._sent += 1

    def _ready(self) -> Agent:
        """The agent, for whoever's turn it is."""
        if self._is_stopped:
            raise Stopped("the node was stopped before this message was begun")
        return self.agent

    def _leave(self) -> None:
        self._sent -= 1
        self.used_at = now()
