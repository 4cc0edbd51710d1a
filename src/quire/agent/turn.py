"""One turn at a time in a conversation: its task, interruption, streams, and shielded work.

Each step of a turn is recorded. A cancellation waits for a step that is being recorded.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Literal, TypeVar, cast

from quire.agent.reply import Delta, Reply, TurnEnded
from quire.context import Context
from quire.errors import InvalidValue, TurnBusy
from quire.items import Message
from quire.models import Answering, Terms
from quire.providers import Rendered
from quire.session import Session, log_of, parts_of
from quire.stores.threads import STORE

T = TypeVar("T")

Emit = Callable[[Delta], Awaitable[None]]
"""Passes a delta to the reader of a stream, and waits for a slow reader."""

WhileBusy = Literal["interrupt", "queue", "refuse", "steer"]
"""What a message does to a running turn: it ends the turn, waits for its end, or raises `TurnBusy`; or it
steers the turn: the next request of the turn shows it, and the reply answers both."""

_MAX_QUEUED = 32
"""Deltas in the queue of a stream; when it is full, the model waits for the reader."""

_POLL_SECONDS = 0.01
"""The pause between polls of a turn of another event loop, which cannot be awaited here."""


async def no_reader(_: Delta) -> None:
    """The `Emit` of a turn that is not streamed."""


async def keep_receipts(context: Context, rendered: Rendered, answering: Answering, terms: Terms) -> None:
    """Keep a receipt of each request of an answer just before the request is sent."""

    async def keep(request: Mapping[str, Any]) -> None:
        await STORE.do(partial(context.sent, rendered.wire, parameters=request))

    await answering.on_send(keep, terms)


class TurnTask:
    """The task of one turn. It can be interrupted from any task, thread or event loop."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.has_begun = asyncio.Event()
        """Set once the input is recorded; an interruption waits for it."""
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Reply] | None = None
        self._has_ended = False
        self._reply: Reply | BaseException | None = None
        self._steering: deque[tuple[Message, asyncio.Event]] = deque()

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended, or its event loop has."""
        return self._has_ended or not self._loop.is_running()

    def start(self, work: Coroutine[Any, Any, Reply]) -> "asyncio.Task[Reply]":
        """Run the work in a task whose code can tell that it runs within this turn."""
        context = copy_context()
        context.run(_turns.set, (*_turns.get(), self))
        self._task = task = self._loop.create_task(work, context=context)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: "asyncio.Task[Reply]") -> None:
        if task.cancelled():
            self._reply = asyncio.CancelledError()
        else:  # asking for the exception marks it as retrieved: the reader of a stream may have left
            self._reply = task.exception() or task.result()
        self._has_ended = True
        self._task = None  # it holds its context, and that holds this object
        self.has_begun.set()  # wakes an interruption that waits for a turn that failed to begin

    async def stream(self, work: Callable[[Emit], Coroutine[Any, Any, Reply]]) -> AsyncGenerator[Delta, None]:
        """The deltas of the work, `TurnEnded` last. Closing the generator cancels the work, and waits."""
        deltas: asyncio.Queue[Delta | None] = asyncio.Queue()
        room = asyncio.Semaphore(_MAX_QUEUED)

        async def emit(delta: Delta) -> None:
            await room.acquire()
            deltas.put_nowait(delta)

        task = self.start(work(emit))
        task.add_done_callback(lambda _: deltas.put_nowait(None))
        try:
            while (delta := await deltas.get()) is not None:
                room.release()
                yield delta
            yield TurnEnded(await task)
        finally:
            task.cancel()
            await asyncio.wait([task])

    def steer(self, message: Message) -> Callable[[], bool]:
        """Show the model a message with its next request; the returned function says whether it was shown."""
        was_delivered = asyncio.Event()
        self._steering.append((message, was_delivered))
        return was_delivered.is_set

    def take_steering(self) -> list[Message]:
        """Take the messages for the next request."""
        messages: list[Message] = []
        while self._steering:
            message, was_delivered = self._steering.popleft()
            was_delivered.set()
            messages.append(message)
        return messages

    async def wait_over(self) -> Reply:
        """Wait for the end of the turn; return its reply, or raise its error."""
        task = self._task
        if task is not None and self._loop is asyncio.get_running_loop():
            await asyncio.wait([task])
        while not self.is_over:
            await asyncio.sleep(_POLL_SECONDS)
        if isinstance(self._reply, Reply):
            return self._reply
        raise self._reply or TurnBusy("the event loop of the turn was closed")

    async def interrupt(self) -> None:
        """Stop the turn, and wait until its end is recorded; code within the turn does not wait."""
        is_within = self in _turns.get()
        if self._loop is asyncio.get_running_loop():
            if is_within:
                self._cancel()
            else:
                await self._stop()
        elif not self.is_over:
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop)
            while not is_within and not self.is_over:
                await asyncio.sleep(_POLL_SECONDS)

    def _cancel(self) -> None:
        self.is_interrupted = True
        if self._task is not None and self.has_begun.is_set():
            self._task.cancel()

    async def _stop(self) -> None:
        task = self._task
        if task is not None:
            await self.has_begun.wait()
            self._cancel()
            await asyncio.wait([task])


_turns: ContextVar[tuple[TurnTask, ...]] = ContextVar("quire.agent.turns", default=())
"""The turns that the current code runs in, the outermost first."""


def refuse_from_within(session: Session) -> None:
    """Raise `InvalidValue` if the current code, such as a tool, runs in a turn of this conversation."""
    if log_of(session).running_turn in _turns.get():
        raise InvalidValue("a tool or hook cannot ask the conversation whose turn it runs in")


async def begin_turn(session: Session, while_busy: WhileBusy) -> TurnTask:
    """Begin a turn of a conversation once the running one has ended; see `WhileBusy`."""
    refuse_from_within(session)
    turn = TurnTask()
    while (other := log_of(session).start_turn(turn)) is not None:
        if while_busy == "refuse":
            raise TurnBusy(f"a turn is running in {session.place}: wait for its end, or interrupt it")
        if while_busy == "interrupt":
            await other.interrupt()
        else:
            with suppress(Exception):  # raised to the caller of that turn
                await other.wait_over()
    return turn


async def steer_turn(session: Session, message: Message) -> Reply | None:
    """Show a message to the running turn, and return its reply; `None` if no turn took the message."""
    turn = log_of(session).running_turn
    if turn is None:
        return None
    refuse_from_within(session)
    (ready,) = parts_of(session).writer.ready([message])
    was_delivered = turn.steer(cast(Message, ready))
    try:
        reply: Reply = await turn.wait_over()
    except Exception:
        if was_delivered():
            raise
        return None
    return reply if was_delivered() else None


# Shielded work


async def shield(work: Coroutine[Any, Any, T]) -> T:
    """Finish work in any case, and return its result. A cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = await wait_ended(task)
    if cancelled is not None:
        raise cancelled from None if task.cancelled() else task.exception()
    return task.result()


async def wait_ended(*tasks: "asyncio.Future[Any]") -> asyncio.CancelledError | None:
    """Wait until tasks have ended, whatever is cancelled meanwhile; return the last cancellation."""
    cancelled: asyncio.CancelledError | None = None
    for task in tasks:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    return cancelled
