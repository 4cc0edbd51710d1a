"""One turn at a time in a conversation: its task, interruption, streams, and shielded work.

A turn is written down step by step. A cancellation waits for the step that is being written.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Literal, TypeVar, cast

from quire.agent.reply import Delta, Done, Reply
from quire.context import Context
from quire.errors import InvalidValue, TurnBusy
from quire.items import Message
from quire.models import Answering, Terms
from quire.providers import Rendered
from quire.session import Session, log_of, parts_of
from quire.stores.threads import STORE

T = TypeVar("T")

Emit = Callable[[Delta], Awaitable[None]]
"""Passes a delta to the reader of a stream; it waits while the reader is slow."""

WhileBusy = Literal["interrupt", "queue", "refuse", "steer"]
"""What a message does while a turn runs: it ends the turn, waits for its end, or raises `TurnBusy`; or it is
shown to the model with the next request of that turn, which answers both."""

_AHEAD = 32
"""Deltas that may wait for a reader before the model waits for it."""

_POLL = 0.01
"""Seconds between two looks at a turn of another event loop, which cannot be awaited here."""


async def no_reader(_: Delta) -> None:
    """The `Emit` of a turn that is not streamed."""


async def keep_receipts(context: Context, rendered: Rendered, answering: Answering, terms: Terms) -> None:
    """Keep a receipt of each request of an answer, just before it is sent."""

    async def keep(request: Mapping[str, Any]) -> None:
        await STORE.do(partial(context.sent, rendered.wire, parameters=request))

    await answering.on_send(keep, terms)


class Turn:
    """The task of one turn. It can be interrupted from any task, thread or event loop."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.has_begun = asyncio.Event()
        """Set once the input is recorded; a turn is interrupted after that, not before."""
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
        """Do the work in a task; code that it calls can tell that it runs within this turn."""
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
        self.has_begun.set()  # wakes whoever waits to interrupt a turn that failed before it began

    async def stream(self, work: Callable[[Emit], Coroutine[Any, Any, Reply]]) -> AsyncGenerator[Delta, None]:
        """The deltas of the work, `Done` last. Closing the generator cancels the work, and waits for it."""
        deltas: asyncio.Queue[Delta | None] = asyncio.Queue()
        room = asyncio.Semaphore(_AHEAD)

        async def emit(delta: Delta) -> None:
            await room.acquire()
            deltas.put_nowait(delta)

        task = self.start(work(emit))
        task.add_done_callback(lambda _: deltas.put_nowait(None))
        try:
            while (delta := await deltas.get()) is not None:
                room.release()
                yield delta
            yield Done(await task)
        finally:
            task.cancel()
            await asyncio.wait([task])

    def steer(self, message: Message) -> Callable[[], bool]:
        """Let the model see a message with its next request; returns what tells whether it did."""
        taken = asyncio.Event()
        self._steering.append((message, taken))
        return taken.is_set

    def take_steering(self) -> list[Message]:
        """The messages that came since this was called last; they will be in the next request."""
        came: list[Message] = []
        while self._steering:
            message, taken = self._steering.popleft()
            taken.set()
            came.append(message)
        return came

    async def wait_over(self) -> Reply:
        """The reply, once the turn has ended. Raises what has ended it."""
        task = self._task
        if task is not None and self._loop is asyncio.get_running_loop():
            await asyncio.wait([task])
        while not self.is_over:
            await asyncio.sleep(_POLL)
        if isinstance(self._reply, Reply):
            return self._reply
        raise self._reply or TurnBusy("the event loop of the turn was closed")

    async def interrupt(self) -> None:
        """Stop the turn, and wait until it is recorded; code that runs within the turn does not wait."""
        is_within = self in _turns.get()
        if self._loop is asyncio.get_running_loop():
            if is_within:
                self._cancel()
            else:
                await self._stop()
        elif not self.is_over:
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop)
            while not is_within and not self.is_over:
                await asyncio.sleep(_POLL)

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


_turns: ContextVar[tuple[Turn, ...]] = ContextVar("quire.agent.turns", default=())
"""The turns that the current code runs within, the outermost first."""


def refuse_from_within(session: Session) -> None:
    """Raise `InvalidValue` if the current code, such as a tool, runs within a turn of this conversation."""
    if log_of(session).at_work in _turns.get():
        raise InvalidValue("a tool or hook cannot ask the conversation whose turn it runs in")


async def begin_turn(session: Session, while_busy: WhileBusy) -> Turn:
    """A new turn of a conversation, once one that is on its way has ended; see `WhileBusy`."""
    refuse_from_within(session)
    turn = Turn()
    while (other := log_of(session).take_turn(turn)) is not None:
        if while_busy == "refuse":
            raise TurnBusy(f"a turn is running in {session.place}: wait for its end, or interrupt it")
        if while_busy == "interrupt":
            await other.interrupt()
        else:
            with suppress(Exception):  # who asked for it is told
                await other.wait_over()
    return turn


async def steered(session: Session, message: Message) -> Reply | None:
    """The reply of a turn that was shown a message on its way; `None` if none runs, or it ended before."""
    work = log_of(session).at_work
    if work is None:
        return None
    refuse_from_within(session)
    (ready,) = parts_of(session).writer.ready([message])
    is_taken = work.steer(cast(Message, ready))
    try:
        reply: Reply = await work.wait_over()
    except Exception:
        if is_taken():
            raise
        return None
    return reply if is_taken() else None


# Work that a cancellation does not stop


async def shield(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that is finished in any case. A cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = await wait_ended(task)
    if cancelled is not None:
        raise cancelled from None if task.cancelled() else task.exception()
    return task.result()


async def wait_ended(*tasks: "asyncio.Future[Any]") -> asyncio.CancelledError | None:
    """Wait until tasks have ended, through cancellations; the last of these is returned."""
    cancelled: asyncio.CancelledError | None = None
    for task in tasks:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    return cancelled
