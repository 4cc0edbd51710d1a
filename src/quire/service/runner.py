"""Runners, which do the jobs that the service accepts, and tell the words of an answer as they come."""

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

from quire.agent import Delta, Recorded, Thoughts, Words
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

_MOST_WORDS, _MOST_ENDED = 2**18, 100
"""Characters that are kept of one answer, and how many answers that have ended are kept."""

_TOGETHER = 0.05
"""Seconds of which the words are told as one piece."""

LONGEST_DELAY = 30 * 86_400.0
"""Seconds by which a message may be delayed."""

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
"""Seconds after which a job that could not be done now is tried again."""


_SLICE = 16
"""How many of those who wait for the same go on in one round of the event loop."""


class Slices:
    """Wakes many who wait for the same a few at a time: together they take half of the event loop's time."""

    def __init__(self) -> None:
        self._left: dict[asyncio.Event, None] = {}
        self._used = 0.0

    def wake(self, events: Iterable[asyncio.Event]) -> None:
        """Set events, each in its turn."""
        is_going = bool(self._left)
        self._left |= dict.fromkeys(events)
        if self._left and not is_going:
            self._used = time.thread_time()
            asyncio.get_running_loop().call_soon(self._go)

    async def turn(self) -> None:
        """Wait for one's turn."""
        self.wake([mine := asyncio.Event()])
        await mine.wait()

    def _go(self) -> None:
        for event in list(islice(self._left, _SLICE)):
            del self._left[event]
            event.set()
        before, self._used = self._used, time.thread_time()
        if self._left:
            asyncio.get_running_loop().call_later(2 * (self._used - before), self._go)


class Shared:
    """Reads of a store: who wants what is being read already waits for that."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[Any]] = {}

    async def do(self, key: Hashable, read: Callable[[], T]) -> T:
        """Read in a thread, once for all who ask under the same key meanwhile."""
        if key not in self._running:
            self._running[key] = STORE.begin(read)
            self._running[key].add_done_callback(lambda _: self._running.pop(key))
        found: T = await asyncio.shield(self._running[key])
        return found


class Address(NamedTuple):
    """A conversation as the node knows it."""

    agent: str
    scope: str
    conversation: str

    @property
    def place(self) -> Place:
        """Where it is kept."""
        return place_at(scope=f"{self.agent}/{self.scope}", conversation=self.conversation)

    @staticmethod
    def of(place: Place) -> "Address":
        """The conversation that is kept at a place."""
        agent, _, scope = place.named.partition("/")
        return Address(agent, scope, place.conversation)

    @property
    def path(self) -> str:
        """The path of its resource."""
        return f"/agents/{quote(self.agent, safe='')}/conversations/{quote(self.conversation, safe='')}"


Kind = Literal["words", "thoughts", "recorded"]


class Told(msgspec.Struct, frozen=True, gc=False):
    """A piece of an answer on its way. Items do not travel: they are in the log.

    The text of `words` and `thoughts` is the piece itself, that of `recorded` the id of the last item that is
    now on record.
    """

    number: int
    kind: Kind
    text: str


def told(number: int, delta: Delta | Outcome) -> Told | None:
    """What is told of a delta; `None` if nothing is."""
    match delta:
        case Words(text):
            return Told(number, "words", text)
        case Thoughts(text):
            return Told(number, "thoughts", text)
        case Recorded(items) if items:
            return Told(number, "recorded", items[-1].id)
        case _:
            return None


class Accepted(NamedTuple):
    """A job was accepted."""

    version: int
    """The version before it."""
    session: Session


class Runner(Protocol):
    """Does jobs, here or on other machines."""

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Accepted:
        """Accept a job. When this returns, the job will be done."""
        ...

    async def cancel(self, session: Session, agent: str, scope: str, conversation: str, job_id: str) -> None:
        """Cancel a job of the conversation of a session, wherever it runs; see `session.jobs.cancel`."""
        ...

    def deltas(
        self, agent: str, scope: str, conversation: str, job_id: str, after: int = 0
    ) -> AsyncGenerator[Told, None]:
        """What a streamed job tells, in rising numbers, after a number; it ends when the job has ended.

        What was told before is told again, for some minutes after the job has ended.
        """
        ...

    async def ended(self, agent: str, scope: str, conversation: str, job_id: str) -> bool:
        """Wait for the end of a job, where that costs less than to follow it; whether there was a wait."""
        ...

    def load(self) -> int:
        """How many jobs wait or run, as far as this process knows."""
        ...

    async def start(self) -> None:
        """Begin; jobs that were accepted before are done too."""
        ...

    async def stop(self, grace: float) -> None:
        """Let running turns end within the grace. What is left stays pending, for whoever starts next."""
        ...


class _Spoken:
    """What one job has told since a version: the oldest are dropped if there is too much of it.

    Words that come within a moment are told as one piece, the same for all who listen.
    """

    def __init__(self, since: int) -> None:
        self.since = since
        self._told: list[Told] = []
        self._size = 0
        # A job that is done again after a restart goes on with higher numbers.
        self.first = self.last = int(now() * 1e3)
        self.has_ended = False
        self._next: list[Told] = []  # pieces of one kind
        self._told_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.changed, self.slices = asyncio.Event(), Slices()

    def add(self, delta: Delta | Outcome) -> None:
        """Tell of a delta: at once, or within a moment if words were told just now."""
        one = told(0, delta)
        if one is None:
            return
        if self._next and self._next[0].kind != one.kind:
            self._tell()
        self._next.append(one)
        wait = self._told_at + _TOGETHER - time.monotonic()
        if one.kind == "recorded" or wait <= 0:
            self._tell()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._tell)

    def end(self) -> None:
        """Nothing more is told."""
        self.has_ended = True
        self._tell()

    def after(self, number: int) -> list[Told]:
        """What is kept after a number."""
        first = self.last - len(self._told)
        return self._told[max(number - first, 0) :]

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._next:
            self.last += 1
            text = "".join(one.text for one in self._next)
            self._told.append(Told(self.last, self._next[0].kind, text))
            self._next = []
            self._told_at = time.monotonic()
            self._size += len(text)
            if self._size > _MOST_WORDS:
                self._told = self._told[len(self._told) // 2 :]
                self._size = sum(len(kept.text) for kept in self._told)
        self.changed.set()
        self.changed = asyncio.Event()


class LocalRunner:
    """Does jobs in this process: conversations side by side, the jobs of each in order."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._jobs: dict[Address, dict[str, float]] = {}  # that wait or run, and when each may begin
        self._working: dict[Address, asyncio.Task[None]] = {}
        self._news: dict[Address, asyncio.Event] = {}
        self._running: set[Address] = set()
        self._words: OrderedDict[tuple[Address, str], _Spoken] = OrderedDict()
        self._finding: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._shared = Shared()

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Accepted:
        """See `Runner.submit`."""
        if self._is_stopped:
            raise Stopped("the service is stopping")
        key = Address(agent, scope, conversation)
        session = await STORE.do(self._node.session, *key)
        version = await session.jobs.submit(job)
        self._attend(key, session)
        return Accepted(version, session)

    async def cancel(self, session: Session, agent: str, scope: str, conversation: str, job_id: str) -> None:
        """See `Runner.cancel`."""
        await session.jobs.cancel(job_id)

    async def deltas(
        self, agent: str, scope: str, conversation: str, job_id: str, after: int = 0
    ) -> AsyncGenerator[Told, None]:
        """See `Runner.deltas`."""
        key = Address(agent, scope, conversation)
        words = self._words.get((key, job_id))
        if words is not None and await self._has(FORGOTTEN, key.place, words.since):
            words = None  # they may quote what was forgotten
        while words is not None:
            after = max(after, words.first)
            for one in words.after(after):
                await words.slices.turn()
                after = one.number
                yield one
            if after < words.last:
                continue  # more came while the reader was busy
            if words.has_ended:
                return
            await words.changed.wait()

    async def ended(self, agent: str, scope: str, conversation: str, job_id: str) -> bool:
        """See `Runner.ended`."""
        return False

    def load(self) -> int:
        """See `Runner.load`."""
        moment = now()
        return sum(begins <= moment for jobs in self._jobs.values() for begins in jobs.values())

    async def start(self) -> None:
        """See `Runner.start`."""
        self._is_stopped = False
        self._finding = asyncio.ensure_future(self._find())

    async def stop(self, grace: float) -> None:
        """See `Runner.stop`."""
        self._is_stopped = True
        if self._finding is not None:
            self._finding.cancel()
        running = [self._working[key] for key in self._running]
        for key, task in list(self._working.items()):
            if key not in self._running:
                task.cancel()
            self._news[key].set()
        if running:
            await asyncio.wait(running, timeout=grace)
        left = [task for task in self._working.values() if task.cancel() or not task.done()]
        await asyncio.gather(*left, return_exceptions=True)
        for words in self._words.values():
            words.end()

    # Conversations at work

    def _attend(self, key: Address, session: Session) -> None:
        """See to the pending jobs of a conversation."""
        jobs = session.jobs.pending()
        for job in jobs:
            if job.id not in self._jobs.setdefault(key, {}):
                self._jobs[key][job.id] = job.not_before
                if job.is_streamed:
                    self._words[key, job.id] = _Spoken(session.version)
        if key in self._working:
            self._news[key].set()
        elif jobs and not self._is_stopped:
            self._news[key] = asyncio.Event()
            self._working[key] = asyncio.ensure_future(self._work(key, session))

    async def _work(self, key: Address, session: Session) -> None:
        """Do the jobs of a conversation, until there is none or the runner is stopped."""
        try:
            await self._do_jobs(key, session)
        finally:
            del self._working[key], self._news[key]
            for job_id in self._jobs.pop(key):
                self._end(key, job_id)

    async def _do_jobs(self, key: Address, session: Session) -> None:
        pause = _SHORTEST_PAUSE
        while not self._is_stopped:
            news = self._news[key]
            news.clear()
            jobs = session.jobs.pending()
            known, self._jobs[key] = self._jobs[key], {job.id: job.not_before for job in jobs}
            for job_id in known.keys() - self._jobs[key]:
                self._end(key, job_id)
            if not jobs:
                return
            job = next((job for job in jobs if job.not_before <= now()), None)
            if job is None:
                first = min(job.not_before for job in jobs) - now()
                await woken(news, min(max(first, 0.01), _LONGEST_PAUSE))
            elif await self._run(key, job):
                pause = _SHORTEST_PAUSE
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                with suppress(StoreError):
                    await session.aio.refresh()

    async def _run(self, key: Address, job: Job) -> bool:
        """Do one job; whether it has ended."""
        words, name = self._words.get((key, job.id)), key._asdict()
        self._running.add(key)
        try:
            deltas = self._node.run_stream(name.pop("agent"), job.id, **name)
            async with aclosing(deltas):
                async for delta in deltas:
                    if words is not None:
                        words.add(delta)
            return True
        except Exception as fault:  # of the store, or another does it: what the turn itself raises ends it
            logger.warning("a job is tried again later: %s", type(fault).__name__)
            return False
        finally:
            self._running.discard(key)

    def _end(self, key: Address, job_id: str) -> None:
        """Keep the words of a job that has ended as one of the latest, and drop the oldest of these."""
        words = self._words.get((key, job_id))
        if words is None:
            return
        words.end()
        self._words.move_to_end((key, job_id))
        ended = [name for name, one in self._words.items() if one.has_ended]
        for name in ended[:-_MOST_ENDED]:
            del self._words[name]

    async def _find(self) -> None:
        """See to the jobs that were left when the process ended; again later where the store failed."""
        pause = _SHORTEST_PAUSE
        while not await self._has_found_all():
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _has_found_all(self) -> bool:
        """Look for jobs, and return whether the store gave all of them."""
        is_all = True
        try:
            found = await STORE.do(self._node.store.with_open_jobs)
        except StoreError as fault:
            logger.warning("jobs are looked for again later: %s", type(fault).__name__)
            return False
        for place in found:
            try:
                key = self._key_of(place)
                if key is not None:
                    self._attend(key, await STORE.do(self._node.session, *key))
            except Exception as fault:  # one conversation that is damaged keeps no other waiting
                logger.warning("jobs of %s are not found: %s", place.digest, type(fault).__name__)
                is_all &= not isinstance(fault, StoreError) or isinstance(fault, StoreDamaged)
        return is_all

    def _key_of(self, place: Place) -> Address | None:
        key = Address.of(place)
        return key if key.agent in self._node.agents and not is_reserved(place.conversation) else None

    async def _has(self, stream: str, place: Place, since: int = 0) -> bool:
        """Whether a stream of a conversation has an entry after a version."""
        read = partial(self._node.store.versions_of, place, stream, limit=1)
        last = await self._shared.do((stream, place), read)
        return any(version > since for version in last)


async def woken(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, and return whether it came in time."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
        return True
    return False
