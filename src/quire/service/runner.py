"""Runners: they do the jobs that the service accepts, and stream their answers in pieces."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable
from contextlib import aclosing, suppress
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from quire.agent import Delta, Recorded, TextDelta, ThinkingDelta
from quire.errors import Stopped, StoreDamaged, StoreError
from quire.items import now
from quire.memory import is_reserved
from quire.node import Node
from quire.session import Job, Outcome, Session
from quire.stores import Place, place_at
from quire.stores.streams import FORGOTTEN
from quire.stores.threads import STORE

logger = logging.getLogger("quire.service")

T = TypeVar("T")

_MAX_CHARACTERS, _MAX_ENDED = 2**18, 100
"""How many characters of an answer are kept, and how many answers that have ended."""

_BATCH_SECONDS = 0.05
"""Words within this time form one piece."""

MAX_DELAY_SECONDS = 30 * 86_400.0
"""The longest delay of a message."""

_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.2, 30.0
"""The first and the longest pause before a job is retried."""

_SLICE = 16
"""How many waiters are woken in one round of the event loop."""


class Slices:
    """Wakes many waiters a few at a time, so that they take at most half of the event loop's time."""

    def __init__(self) -> None:
        self._queue: dict[asyncio.Event, None] = {}
        self._thread_seconds = 0.0

    def wake(self, events: Iterable[asyncio.Event]) -> None:
        """Set events, a slice at a time."""
        is_running = bool(self._queue)
        self._queue |= dict.fromkeys(events)
        if self._queue and not is_running:
            self._thread_seconds = time.thread_time()
            asyncio.get_running_loop().call_soon(self._wake_slice)

    async def wait(self) -> None:
        """Wait to be woken, in line with all other waiters."""
        self.wake([event := asyncio.Event()])
        await event.wait()

    def _wake_slice(self) -> None:
        for event in list(islice(self._queue, _SLICE)):
            del self._queue[event]
            event.set()
        before, self._thread_seconds = self._thread_seconds, time.thread_time()
        if self._queue:
            asyncio.get_running_loop().call_later(2 * (self._thread_seconds - before), self._wake_slice)


class Shared:
    """Shares each running read of a store with all who ask for the same."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[Any]] = {}

    async def do(self, key: Hashable, read: Callable[[], T]) -> T:
        """Read in a thread, or await the running read with the same key."""
        if key not in self._running:
            self._running[key] = STORE.begin(read)
            self._running[key].add_done_callback(lambda _: self._running.pop(key))
        value: T = await asyncio.shield(self._running[key])
        return value


class Address(NamedTuple):
    """A conversation as the node knows it."""

    agent: str
    scope: str
    conversation: str

    @property
    def place(self) -> Place:
        """Its place in the store."""
        return place_at(scope=f"{self.agent}/{self.scope}", conversation=self.conversation)

    @staticmethod
    def of(place: Place) -> "Address":
        """The conversation at a place."""
        agent, _, scope = place.given_scope.partition("/")
        return Address(agent, scope, place.conversation)

    @property
    def path(self) -> str:
        """The path of its resource."""
        return f"/agents/{quote(self.agent, safe='')}/conversations/{quote(self.conversation, safe='')}"


Kind = Literal["words", "thoughts", "recorded"]


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A piece of a running answer, without items, which are in the log.

    The text of `words` and `thoughts` is what the model wrote; that of `recorded` is the id of the last
    recorded item.
    """

    number: int
    kind: Kind
    text: str


def piece_of(number: int, delta: Delta | Outcome) -> Piece | None:
    """The piece of a delta, if it has one."""
    match delta:
        case TextDelta(text):
            return Piece(number, "words", text)
        case ThinkingDelta(text):
            return Piece(number, "thoughts", text)
        case Recorded(items) if items:
            return Piece(number, "recorded", items[-1].id)
        case _:
            return None


class Submission(NamedTuple):
    """An accepted job."""

    version: int
    """The version of the conversation before the job was accepted."""
    session: Session


class Schedule(NamedTuple):
    """A message that is sent regularly; its name is unique in a database.

    `cron` has five fields, or six with seconds first; its times are UTC unless `timezone` names a zone.
    """

    name: str
    cron: str
    agent: str
    message: str
    scope: str = ""
    conversation: str = ""
    timezone: str | None = None


class Runner(Protocol):
    """Does jobs, here or on other machines."""

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Submission:
        """Accept a job. Once this returns, the job will be done, also after a crash."""
        ...

    async def cancel(self, session: Session, agent: str, scope: str, conversation: str, job_id: str) -> None:
        """Cancel a job of the conversation of a session, wherever it runs; see `session.jobs.cancel`."""
        ...

    def deltas(
        self, agent: str, scope: str, conversation: str, job_id: str, after: int = 0
    ) -> AsyncGenerator[Piece, None]:
        """The pieces of a streamed job after a number, until the job has ended.

        They can be read again for some minutes after its end.
        """
        ...

    async def ended(self, agent: str, scope: str, conversation: str, job_id: str) -> bool:
        """Wait for the end of a job, if that costs less than reading its events; return whether it waited."""
        ...

    def load(self) -> int:
        """The number of open jobs, as far as this process knows."""
        ...

    async def start(self) -> None:
        """Start the runner, and the jobs that it accepted before and that have not ended."""
        ...

    async def stop(self, grace: float) -> None:
        """Stop. Running turns have `grace` seconds to end; other jobs stay pending until the next start."""
        ...


class _Pieces:
    """The pieces of one job since a version. The oldest are dropped if there are too many.

    Words within `_BATCH_SECONDS` form one piece, the same for all readers.
    """

    def __init__(self, since: int) -> None:
        self.since = since
        self._pieces: list[Piece] = []
        self._size = 0
        # From the clock, so that a job that runs again after a restart has higher numbers.
        self.before_first = self.last = int(now() * 1e3)
        self.has_ended = False
        self._batch: list[Piece] = []  # of one kind
        self._batched_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.changed, self.slices = asyncio.Event(), Slices()

    def add(self, delta: Delta | Outcome) -> None:
        """Add the piece of a delta: at once, or with the next batch."""
        piece = piece_of(0, delta)
        if piece is None:
            return
        if self._batch and self._batch[0].kind != piece.kind:
            self._flush()
        self._batch.append(piece)
        wait = self._batched_at + _BATCH_SECONDS - time.monotonic()
        if piece.kind == "recorded" or wait <= 0:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def end(self) -> None:
        """Add no more pieces."""
        self.has_ended = True
        self._flush()

    def after(self, number: int) -> list[Piece]:
        """The pieces after a number."""
        dropped = self.last - len(self._pieces)  # the last number before the pieces that are kept
        return self._pieces[max(number - dropped, 0) :]

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._batch:
            self.last += 1
            text = "".join(piece.text for piece in self._batch)
            self._pieces.append(Piece(self.last, self._batch[0].kind, text))
            self._batch = []
            self._batched_at = time.monotonic()
            self._size += len(text)
            if self._size > _MAX_CHARACTERS:
                self._pieces = self._pieces[len(self._pieces) // 2 :]
                self._size = sum(len(piece.text) for piece in self._pieces)
        self.changed.set()
        self.changed = asyncio.Event()


class LocalRunner:
    """Does jobs in this process: conversations in parallel, the jobs of each in order."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._jobs: dict[Address, dict[str, float]] = {}  # open jobs, and when each may begin
        self._tasks: dict[Address, asyncio.Task[None]] = {}
        self._wakes: dict[Address, asyncio.Event] = {}
        self._running: set[Address] = set()
        self._pieces: OrderedDict[tuple[Address, str], _Pieces] = OrderedDict()
        self._finding: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._shared = Shared()

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Submission:
        """See `Runner.submit`."""
        if self._is_stopped:
            raise Stopped("the service is stopping")
        key = Address(agent, scope, conversation)
        session = await STORE.do(self._node.session, *key)
        version = await session.jobs.submit(job)
        self._start_work(key, session)
        return Submission(version, session)

    async def cancel(self, session: Session, agent: str, scope: str, conversation: str, job_id: str) -> None:
        """See `Runner.cancel`."""
        await session.jobs.cancel(job_id)

    async def deltas(
        self, agent: str, scope: str, conversation: str, job_id: str, after: int = 0
    ) -> AsyncGenerator[Piece, None]:
        """See `Runner.deltas`."""
        key = Address(agent, scope, conversation)
        pieces = self._pieces.get((key, job_id))
        if pieces is not None and await self._has_forgotten(key.place, pieces.since):
            pieces = None  # they may quote what was forgotten
        while pieces is not None:
            after = max(after, pieces.before_first)
            for piece in pieces.after(after):
                await pieces.slices.wait()
                after = piece.number
                yield piece
            if after < pieces.last:
                continue  # more were added while the reader was busy
            if pieces.has_ended:
                return
            await pieces.changed.wait()

    async def ended(self, agent: str, scope: str, conversation: str, job_id: str) -> bool:
        """See `Runner.ended`."""
        return False

    def load(self) -> int:
        """See `Runner.load`."""
        moment = now()
        return sum(begins_at <= moment for jobs in self._jobs.values() for begins_at in jobs.values())

    async def start(self) -> None:
        """See `Runner.start`."""
        self._is_stopped = False
        self._finding = asyncio.ensure_future(self._find())

    async def stop(self, grace: float) -> None:
        """See `Runner.stop`."""
        self._is_stopped = True
        if self._finding is not None:
            self._finding.cancel()
        running = [self._tasks[key] for key in self._running]
        for key, task in list(self._tasks.items()):
            if key not in self._running:
                task.cancel()
            self._wakes[key].set()
        if running:
            await asyncio.wait(running, timeout=grace)
        remaining = [task for task in self._tasks.values() if not task.done()]
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)
        for pieces in self._pieces.values():
            pieces.end()

    # Conversations with open jobs

    def _start_work(self, key: Address, session: Session) -> None:
        """Start the task that does the pending jobs of a conversation, or notify it of new ones."""
        jobs = session.jobs.pending()
        for job in jobs:
            if job.id not in self._jobs.setdefault(key, {}):
                self._jobs[key][job.id] = job.not_before
                if job.is_streamed:
                    self._pieces[key, job.id] = _Pieces(session.version)
        if key in self._tasks:
            self._wakes[key].set()
        elif jobs and not self._is_stopped:
            self._wakes[key] = asyncio.Event()
            self._tasks[key] = asyncio.ensure_future(self._work(key, session))

    async def _work(self, key: Address, session: Session) -> None:
        """Do the jobs of a conversation, until there is none or the runner is stopped."""
        try:
            await self._do_jobs(key, session)
        finally:
            del self._tasks[key], self._wakes[key]
            for job_id in self._jobs.pop(key):
                self._end(key, job_id)

    async def _do_jobs(self, key: Address, session: Session) -> None:
        pause = _MIN_PAUSE_SECONDS
        while not self._is_stopped:
            wake = self._wakes[key]
            wake.clear()
            jobs = session.jobs.pending()
            old_jobs, self._jobs[key] = self._jobs[key], {job.id: job.not_before for job in jobs}
            for job_id in old_jobs.keys() - self._jobs[key]:
                self._end(key, job_id)
            if not jobs:
                return
            job = next((job for job in jobs if job.not_before <= now()), None)
            if job is None:
                seconds = min(job.not_before for job in jobs) - now()
                await wait_for(wake, min(max(seconds, 0.01), _MAX_PAUSE_SECONDS))
            elif await self._run(key, job):
                pause = _MIN_PAUSE_SECONDS
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
                with suppress(StoreError):
                    await session.aio.refresh()

    async def _run(self, key: Address, job: Job) -> bool:
        """Do one job, and return whether it has ended."""
        pieces = self._pieces.get((key, job.id))
        self._running.add(key)
        try:
            deltas = self._node.run_stream(key.agent, job.id, scope=key.scope, conversation=key.conversation)
            async with aclosing(deltas):
                async for delta in deltas:
                    if pieces is not None:
                        pieces.add(delta)
            return True
        except Exception as fault:  # an error of the turn itself ends the job; this is one of the store
            logger.warning("a job is retried later: %s", type(fault).__name__)
            return False
        finally:
            self._running.discard(key)

    def _end(self, key: Address, job_id: str) -> None:
        """End the pieces of a job, and drop those of the oldest job that has ended."""
        pieces = self._pieces.get((key, job_id))
        if pieces is None:
            return
        pieces.end()
        self._pieces.move_to_end((key, job_id))
        ended = [name for name, pieces in self._pieces.items() if pieces.has_ended]
        for name in ended[:-_MAX_ENDED]:
            del self._pieces[name]

    async def _find(self) -> None:
        """Start the jobs that were open when the last process ended; retry if the store fails."""
        pause = _MIN_PAUSE_SECONDS
        while not await self._find_jobs():
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    async def _find_jobs(self) -> bool:
        """Start all open jobs of the store, and return whether all could be read."""
        were_all_read = True
        try:
            places = await STORE.do(self._node.store.with_open_jobs)
        except StoreError as fault:
            logger.warning("open jobs are searched again later: %s", type(fault).__name__)
            return False
        for place in places:
            try:
                key = Address.of(place)
                if key.agent in self._node.agents and not is_reserved(place.conversation):
                    self._start_work(key, await STORE.do(self._node.session, *key))
            except Exception as fault:  # a damaged conversation must not delay the others
                logger.warning("jobs of %s cannot be read: %s", place.digest, type(fault).__name__)
                if isinstance(fault, StoreError) and not isinstance(fault, StoreDamaged):
                    were_all_read = False
        return were_all_read

    async def _has_forgotten(self, place: Place, since: int) -> bool:
        """Whether something of a conversation was forgotten after a version."""
        read = partial(self._node.store.versions_of, place, FORGOTTEN, limit=1)
        return any(version > since for version in await self._shared.do(place, read))


async def wait_for(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, and return whether it was set in time."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
        return True
    return False
