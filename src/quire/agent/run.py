"""One question on its way: the task that sees to it, who listens, and how it is stopped."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any
from weakref import finalize

from quire.agent.reply import Delta, Done, Reply
from quire.agent.unbroken import done
from quire.errors import InvalidValue, TurnBusy
from quire.session import Session

Tell = Callable[[Delta], Awaitable[None]]
"""Takes what is told on the way; who listens slowly is waited for."""

_AHEAD = 32
"""Deltas that may wait for a listener before the model has to wait for it."""

_GLANCE = 0.01
"""Seconds between two looks at a question of another loop, which cannot be waited for."""


async def nobody(_: Delta) -> None:
    """Tell nobody."""


class Listener:
    """Who listens to what is told of a question; left once nobody holds the stream any more.

    A generator that is dropped is closed some time later, and meanwhile its question is still on its way.
    """

    def __init__(self) -> None:
        self.has_left = False

    def holds(self, stream: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
        """The stream, by which it is known whether somebody listens."""
        finalize(stream, self._leave).atexit = False
        return stream

    def _leave(self) -> None:
        self.has_left = True


class Run:
    """A task that can be interrupted from outside, and that is never left half done."""

    def __init__(self, session: Session, listener: Listener | None = None) -> None:
        self.session = session
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Reply] | None = None
        self._has_ended = False
        self.is_interrupted = False
        self.has_begun = asyncio.Event()
        """Set once what was asked is on the record: from then on it may be interrupted."""

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end. Nothing goes on in a loop that was left."""
        is_done = self._task is not None and self._task.done()
        return is_done or self._has_ended or not self._loop.is_running()

    @property
    def is_left(self) -> bool:
        """Whether who listened has stopped, so that it comes to its end by itself."""
        return self._listener is not None and self._listener.has_left

    async def finish(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        """Do the work to its end. Who cancels this cancels the work, and waits until it is tidied up."""
        task = self._begin(work)
        try:
            await done(task)
        except asyncio.CancelledError:
            task.cancel()
            await done(task)
            raise
        return task.result()

    async def interrupt(self) -> None:
        """Stop the work, and wait until what it did is on the record.

        What the work waits for itself, such as a hook, tells it to stop, and goes on.
        """
        is_of_this_loop = self._loop is asyncio.get_running_loop()
        if self in _under_way.get():
            if is_of_this_loop:
                self._break_off()
            elif not self.is_over:
                self._loop.call_soon_threadsafe(self._break_off)
        elif is_of_this_loop:
            await self._stopped()
        elif not self.is_over:
            asyncio.run_coroutine_threadsafe(self._stopped(), self._loop)
            while not self.is_over:
                await asyncio.sleep(_GLANCE)

    def go_on(self) -> None:
        """Go no further where it was told to stop before it had begun."""
        if self.is_interrupted:
            raise asyncio.CancelledError

    def _break_off(self) -> None:
        """Have the work stop as soon as it has begun; nobody waits for that."""
        self.is_interrupted = True
        if self._task is not None and self.has_begun.is_set():
            self._task.cancel()

    async def _stopped(self) -> None:
        task = self._task
        if task is None or task.done():
            return
        await self.has_begun.wait()
        self.is_interrupted = True
        task.cancel()
        await asyncio.wait([task])

    def _begin(self, work: Coroutine[Any, Any, Reply]) -> asyncio.Task[Reply]:
        context = copy_context()
        context.run(_under_way.set, (*_under_way.get(), self))
        self._task = task = asyncio.get_running_loop().create_task(work, context=context)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Reply]) -> None:
        if not task.cancelled():
            task.exception()  # who left is not told, nor is anybody else in the place of them
        self.has_begun.set()  # it may have been cancelled before it began
        self._has_ended = True
        self._task = None  # which holds its context, and that this

    async def tell(self, work: Callable[[Tell], Coroutine[Any, Any, Reply]]) -> AsyncGenerator[Delta, None]:
        """What the work tells, as it comes, and its reply last. Who stops listening stops the work."""
        channel = _Channel()

        async def whole() -> Reply:
            try:
                reply = await work(channel.put)
                channel.end(Done(reply))  # a listener that has stopped is not waited for
                return reply
            finally:
                channel.end()

        task = self._begin(whole())
        try:
            while (delta := await channel.get()) is not None:
                yield delta
            await task
        finally:
            task.cancel()
            await asyncio.wait([task])


_under_way: ContextVar[tuple[Run, ...]] = ContextVar("quire.agent.under_way", default=())
"""The questions on whose way something is done, the outermost first."""


def refuse_from_within(session: Session) -> None:
    """An error where the conversation is asked by what its own question waits for, such as a tool."""
    at_work = session.steps.at_work
    if any(run is at_work for run in _under_way.get()):
        raise InvalidValue(
            "an agent is at work on a question: its conversation cannot be asked another from within it"
        )


async def turn_of(session: Session, *, interrupts: bool, listener: Listener | None = None) -> Run:
    """A question that is the only one on its way in a conversation, whoever was asked another before."""
    refuse_from_within(session)
    run = Run(session, listener)
    while (other := session.steps.take_turn(run)) is not None:
        if not interrupts and not (isinstance(other, Run) and other.is_left):
            raise TurnBusy(f"a question is on its way in {session.place}: there is nothing to go on with yet")
        await other.interrupt()
    return run


class _Channel:
    """From one who tells to one who listens, so many ahead; the end can always be told."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Delta | None] = asyncio.Queue()
        self._free = asyncio.Semaphore(_AHEAD)

    async def put(self, delta: Delta) -> None:
        await self._free.acquire()
        self._told.put_nowait(delta)

    async def get(self) -> Delta | None:
        delta = await self._told.get()
        self._free.release()
        return delta

    def end(self, last: Delta | None = None) -> None:
        self._told.put_nowait(last)
