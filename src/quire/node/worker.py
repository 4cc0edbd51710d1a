"""The worker of one conversation of an agent: it runs its turns one after another, in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic, Literal, TypeVar, Unpack
from weakref import WeakSet

from quire.agent import Agent, Asking, Decisions, Delta, Input, Reply
from quire.agent.agent import message_of, while_busy_of
from quire.agent.builtin import sub_agents
from quire.agent.turn import WhileBusy, refuse_from_within, steer_turn
from quire.errors import InvalidValue, Stopped, TurnBusy
from quire.items import ToolCall, now
from quire.node.jobs import RETRYABLE, Errors, fail_job, run_job
from quire.session import Outcome, Session, claim_job, log_of, parts_of
from quire.stores.threads import STORE

T = TypeVar("T")

State = Literal["idle", "running", "waiting"]
"""The state of a conversation: idle, answering, or waiting for a person."""

_LAST_DELTAS_SECONDS = 0.2  # for listeners to read that an answer was interrupted


class AnswerStream(Generic[T]):
    """Reads an answer in a task and buffers it, so that a slow listener delays no other turn.

    `on_end` is called when the answer is complete, even if nobody has read it.
    """

    def __init__(self, begin: Callable[[], AsyncGenerator[T, None]], on_end: Callable[[], None]) -> None:
        self._buffer: asyncio.Queue[T | None] = asyncio.Queue()
        self._on_end = on_end
        self.closed = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read(begin))
        # A callback, because a task that is cancelled before its first step never reaches a `finally`.
        self._reading.add_done_callback(self._end)

    async def next(self) -> T | None:
        """The next delta; after the last one, `None` or the error of the answer."""
        delta = await self._buffer.get()
        if delta is None:
            self._reading.result()
        return delta

    async def close(self) -> None:
        """Cancel the answer if it is incomplete, and wait until its part is recorded."""
        self._reading.cancel()
        try:
            await asyncio.wait([self._reading])
        finally:
            self.closed.set()

    async def _read(self, begin: Callable[[], AsyncGenerator[T, None]]) -> None:
        async with aclosing(begin()) as deltas:
            async for delta in deltas:
                self._buffer.put_nowait(delta)

    def _end(self, reading: "asyncio.Future[None]") -> None:
        if not reading.cancelled():
            reading.exception()  # marks it as retrieved: perhaps nobody listens any more
        self._on_end()
        self._buffer.put_nowait(None)


class Worker:
    """The agent of one conversation, created on first use. It answers one message at a time.

    `open` returns the sessions that `make` needs; it may wait for a disk, so it is called in a thread.
    `on_change` is called when the agent was created, and when an answer is complete or was read: the weight
    of the worker may have changed, and it may be idle.
    """

    def __init__(
        self,
        open: Callable[[], Sequence[Session]],
        make: Callable[[Sequence[Session]], Awaitable[Agent]],
        on_change: Callable[["Worker"], None],
    ) -> None:
        self._open, self._make, self._on_change = open, make, on_change
        self._agent: Agent | None = None
        self._opening = asyncio.Lock()
        self._turn = asyncio.Lock()  # first come, first served
        self._is_stopped = False
        self._streams: WeakSet[AnswerStream[Any]] = WeakSet()  # each is held by its listener
        self._pending = 0
        self.used_at = now()

    @property
    def agent(self) -> Agent:
        """The agent, once it was created."""
        if self._agent is None:
            raise InvalidValue("the agent was not created yet: await open()")
        return self._agent

    async def open(self) -> Agent:
        """The agent, created on first use. `Stopped` if the node stops before."""
        async with self._opening:
            if self._agent is None:
                agent = await self._make(await STORE.do(self._open))
                if self._is_stopped:
                    raise Stopped("the node was stopped before the conversation was open")
                self._agent = agent
                self._on_change(self)
            return self._agent

    @property
    def weight(self) -> int:
        """About how many bytes of memory the conversation takes."""
        return 0 if self._agent is None else log_of(self._agent.session).root.weight

    @property
    def is_busy(self) -> bool:
        """Whether messages are being answered, or answers are being read."""
        return self._pending > 0 or len(self._streams) > 0

    async def state(self) -> State:
        """The state of the conversation."""
        calls = await self._waiting_calls()
        if calls is None:
            return "running"
        return "waiting" if calls else "idle"

    async def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a person's answer or approval."""
        return await self._waiting_calls() or ()

    async def members(self) -> tuple[str, ...]:
        """The conversations of the sub-agents."""
        session = (await self.open()).session
        return tuple(f"{session.place.conversation}/{name}" for name in sub_agents(session))

    async def send(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """Answer a message after earlier ones, unless `while_busy` says otherwise."""
        while_busy = while_busy_of(asking, "queue")
        asking.pop("while_busy", None)
        if while_busy == "steer" and self._pending:
            session = (await self.open()).session
            if (reply := await steer_turn(session, message_of(input, "Node.send"))) is not None:
                return reply
        return await self._answer(lambda agent: agent.ask(input, **asking), while_busy)

    async def decide(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """Decide waiting calls after earlier messages, then continue the turn."""
        return await self._answer(lambda agent: agent.decide(decisions, **asking))

    def send_stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """As `send`, streamed."""
        while_busy = while_busy_of(asking, "queue", is_streamed=True)
        asking.pop("while_busy", None)
        return self._stream(lambda agent: agent.stream(input, **asking), while_busy)

    def decide_stream(self, decisions: Decisions, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """As `decide`, streamed."""
        return self._stream(lambda agent: agent.decide_stream(decisions, **asking))

    async def run(
        self, job_id: str, *, force: bool = False, raises: Errors = ()
    ) -> AsyncGenerator[Delta | Outcome, None]:
        """Do a job after earlier messages; see `Node.run`. The job fails if the agent cannot be created."""

        def begin(agent: Agent) -> AsyncGenerator[Delta | Outcome, None]:
            return run_job(agent, job_id, force=force, raises=raises, is_stopped=lambda: self._is_stopped)

        if self._agent is None:
            try:
                await self._begin_turn()
            except RETRYABLE:
                raise
            except Exception as fault:
                session, *_ = await STORE.do(self._open)
                async with claim_job(parts_of(session).writer, job_id, force=force) as running:
                    yield running.outcome or await fail_job(running, fault)
                return
            self._end_turn()
        async with aclosing(self._stream(begin)) as deltas:
            async for delta in deltas:
                yield delta

    async def stop(self, grace: float, hurry: asyncio.Event) -> None:
        """Refuse new messages. Interrupt the current answer after `grace` seconds, or once `hurry` is set."""
        self._is_stopped = True
        if self._agent is None:
            return
        idle, hurried = asyncio.ensure_future(self._wait_idle()), asyncio.ensure_future(hurry.wait())
        await asyncio.wait((idle, hurried), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if not idle.done():
            await self._agent.interrupt()
            await asyncio.wait([idle], timeout=_LAST_DELTAS_SECONDS)
        for task in (idle, hurried):
            task.cancel()
        await asyncio.gather(idle, hurried, return_exceptions=True)
        await self._agent.session.aio.close(0)

    async def _begin_turn(self, while_busy: WhileBusy = "queue") -> Agent:
        """The agent, once earlier messages are answered. The caller ends the turn with `_end_turn`."""
        if self._agent is not None:
            refuse_from_within(self._agent.session)  # a tool of this conversation would wait for itself
        if self._pending and while_busy == "refuse":
            raise TurnBusy("the conversation is busy with another message")
        if self._pending and while_busy == "interrupt":
            await (await self.open()).interrupt()
        self._pending += 1
        try:
            await self._turn.acquire()
        except BaseException:
            self._end_pending()
            raise
        try:
            agent = await self.open()
            if self._is_stopped:
                raise Stopped("the node was stopped before it began this message")
            return agent
        except BaseException:
            self._end_turn()
            raise

    def _end_turn(self) -> None:
        """Let the next message begin."""
        self._turn.release()
        self._end_pending()

    def _end_pending(self) -> None:
        self._pending -= 1
        self._on_change(self)

    async def _waiting_calls(self) -> tuple[ToolCall, ...] | None:
        """The calls that wait for a person; `None` while a turn runs."""
        if self._pending > 0:
            return None
        agent = await self.open()
        if log_of(agent.session).running_turn is not None:
            return None
        return await STORE.do(agent.waiting)

    async def _wait_idle(self) -> None:
        """Wait until the messages are answered, and listeners have read the answers."""
        async with self._turn:
            pass
        await asyncio.gather(*(stream.closed.wait() for stream in self._streams))

    async def _answer(
        self, ask: Callable[[Agent], Awaitable[Reply]], while_busy: WhileBusy = "queue"
    ) -> Reply:
        agent = await self._begin_turn(while_busy)
        try:
            return await ask(agent)
        finally:
            self._end_turn()

    async def _stream(
        self, begin: Callable[[Agent], AsyncGenerator[T, None]], while_busy: WhileBusy = "queue"
    ) -> AsyncGenerator[T, None]:
        agent = await self._begin_turn(while_busy)
        stream = AnswerStream(lambda: begin(agent), self._end_turn)
        self._streams.add(stream)
        try:
            while (delta := await stream.next()) is not None:
                yield delta
        finally:
            await stream.close()
            self._streams.discard(stream)
            self._on_change(self)
