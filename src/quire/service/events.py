"""The events of a conversation: what is recorded, in order, and between it the words of a running answer.

A reader has a cursor and pulls: it reads the log from there, and what the runner has told of the job that
runs. So a slow client holds nobody up and takes no memory. The id of an event is the cursor after it; whoever
comes back with an id gets all that follows, and nothing twice.

Words are a preview of items. They are told beside the log, and may be dropped; items never are. The order is
that of the record: the words of a response come before its items, and after all that was recorded earlier.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote, unquote

import msgspec
from starlette.responses import StreamingResponse

from quire.errors import InvalidValue, StoreDamaged
from quire.items import JSON, Message, Note
from quire.service.runner import Address, Runner, Shared, Slices, woken
from quire.session import AcceptedJob, EndedJob, JobEntry, Spending, TakenJob, job_entry
from quire.stores import Place, Store, Stored
from quire.stores.store import is_own
from quire.stores.streams import JOBS, USAGE
from quire.stores.threads import STORE
from quire.tokens import Usage

ALIVE, ALIVE_SIGN = 15.0, b": alive\n\n"
"""The sign of life in a stream, and the seconds between two of them."""

_PAGE, _LARGE = 16, 2**16
"""Entries that a reader that is behind reads at once; one, if the last ones had more bytes."""

_FRESH, _TOGETHER = 5.0, 0.05
"""Seconds for which a reader is not behind after it was at the end, and between two looks."""

_QUIET = 1.0
"""Seconds without words, after which what others recorded is shown though a turn runs."""

_OF_MODELS = ("tool_call", "reasoning")

T = TypeVar("T")
Name = Literal["accepted", "begun", "item", "words", "thoughts", "ended", "reset"]


class Cursor(NamedTuple):
    """How far a reader has come: in the log, and in what the running job has told."""

    version: int = 0
    job: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.version}~{quote(self.job, safe='')}~{self.number}" if self.job else str(self.version)

    @staticmethod
    def read(text: str) -> "Cursor":
        """The cursor that an id of an event stands for."""
        version, _, rest = text.partition("~")
        job, _, number = rest.rpartition("~")
        is_number = version.isdecimal() and (number.isdecimal() or not rest)
        if not is_number or len(version) > 15 or len(number) > 15:
            raise InvalidValue("the id of an event is one that the service gave")
        return Cursor(int(version), unquote(job), int(number or 0))


class Event(NamedTuple):
    """Something that happened. The item of an `item` is raw JSON, as it is stored."""

    id: str
    name: Name
    version: int
    """The version of the conversation up to which a reader has everything."""
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The event as it is sent."""
        head = f"id: {self.id}\nevent: {self.name}\ndata: ".encode()
        return head + msgspec.json.encode(self.data) + b"\n\n"


ITEM = "Item"
"""The name of the schema of items in the description of the service."""

_SCHEMA = {"$ref": f"#/components/schemas/{ITEM}"}
StoredItem = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema=_SCHEMA)]
"""An item as it is stored: its JSON is passed on."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job."""

    job: str
    stop: str
    """Why the turn ended: done, waiting for a person or the client, failed, or a limit that was reached."""
    text: str
    """The last text of the model."""
    items: list[StoredItem]
    """All items that the turn recorded, the message that it answers included."""
    waiting: tuple[str, ...] = ()
    """The call ids of calls that wait for a decision or a result."""
    error: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    version: int = 0


class _Followed:
    """A conversation that has readers."""

    def __init__(self) -> None:
        self.wakes: dict[asyncio.Event, None] = {}
        self.slices, self.changes = Slices(), 0
        self.unwatch: Callable[[], None] | None = None


class Readers:
    """The readers that are open in this process: they all end when it is closed.

    Those of one conversation are woken a few at a time, and share what they read of the store.
    """

    def __init__(self) -> None:
        self._followed: dict[Place, _Followed] = {}
        self._shared, self.closing = Shared(), asyncio.Event()

    def __len__(self) -> int:
        return sum(len(followed.wakes) for followed in self._followed.values())

    @property
    def is_closed(self) -> bool:
        """Whether all readers end."""
        return self.closing.is_set()

    def close(self) -> None:
        """End all readers; their clients come back with the id of the last event they had."""
        self.closing.set()
        for followed in self._followed.values():
            for wake in followed.wakes:
                wake.set()

    @contextmanager
    def following(self, place: Place) -> Generator[asyncio.Event]:
        """An event that is set whenever a conversation may have changed since `watch`, in the block."""
        wake, followed = asyncio.Event(), self._followed.setdefault(place, _Followed())
        followed.wakes[wake] = None
        try:
            yield wake
        finally:
            del followed.wakes[wake]
            if not followed.wakes:
                del self._followed[place]
                if followed.unwatch is not None:
                    followed.unwatch()

    def watch(self, store: Store, place: Place) -> None:
        """Watch a conversation that is followed: a reader that finds all it waits for need not be woken."""
        loop, followed = asyncio.get_running_loop(), self._followed[place]

        def wake_all() -> None:
            followed.changes += 1
            followed.slices.wake(followed.wakes)

        def changed() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake_all)

        if followed.unwatch is None:
            followed.unwatch = store.watch(place, changed)

    async def read(self, place: Place, after: int, at_once: int, read: Callable[[], T]) -> T:
        """Read what comes after a version, once for all who are there since the last change."""
        return await self._shared.do((place, after, at_once, self._followed[place].changes), read)


class Reader:
    """Reads the events of one conversation, from a cursor on."""

    def __init__(
        self, readers: Readers, runner: Runner, store: Store, address: Address, after: Cursor
    ) -> None:
        self._address, self._place = address, address.place
        self._readers, self._runner, self._store = readers, runner, store
        self._version, self._job, self._number = after
        self._has_words = bool(after.job)
        self._unstreamed: set[str] = set()  # jobs that tell no words
        self._claim: str | None = None
        self._ahead: deque[Stored] = deque()  # what was read and not told yet
        self._at_once, self._least = 1, 0
        self._read_at = self._ended_at = -_FRESH  # when it was read last, and when to the end
        self.spent = Spending()
        """What the job has used, as far as it was read."""

    async def events(self, until: str | None = None) -> AsyncGenerator[Event | None, None]:
        """The events, without an end, or until a job that was accepted has ended; `None` is a sign of life.

        If the conversation is removed, the job has ended too.
        """
        self._least = int(until is not None)
        with self._readers.following(self._place) as wake:
            is_last = False
            if self._job:
                self._claim = await STORE.do(self._last_claim)
            while not is_last:
                is_last = self._readers.is_closed
                wake.clear()
                async with aclosing(self._next(wake)) as events:
                    async for event in events:
                        is_last = False  # all that is recorded is told, also when the service has stopped
                        yield event
                        if until is None or event is None:
                            continue
                        if event.name == "reset":
                            told = {"job": until, "stop": "removed", "waiting": (), "error": ""}
                            yield self._event("ended", told)
                            return
                        if event.name == "ended" and event.data["job"] == until:
                            return
                if self._readers.is_closed:
                    continue
                self._readers.watch(self._store, self._place)
                if not self._has_words and not await woken(wake, ALIVE):
                    yield None
                await asyncio.sleep(max(self._read_at + _TOGETHER - time.monotonic(), 0))

    async def until_ended(self, job: str) -> None:
        """Wait until a job that was just accepted has ended, if the runner can tell, or the service stops."""
        ended = asyncio.ensure_future(self._runner.ended(*self._address, job))
        closing = asyncio.ensure_future(self._readers.closing.wait())
        try:
            await asyncio.wait([ended, closing], return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and ended.result():
                self._ended_at = time.monotonic()  # little was recorded since
        finally:
            ended.cancel()
            closing.cancel()

    async def encoded(self, until: str | None = None) -> AsyncGenerator[bytes, None]:
        """The events as they are sent, with signs of life between."""
        yield b"retry: 1000\n\n"
        async with aclosing(self.events(until)) as events:
            async for event in events:
                yield ALIVE_SIGN if event is None else event.encoded()

    async def _next(self, wake: asyncio.Event) -> AsyncGenerator[Event | None, None]:
        """All that there is by now; while a job is followed, all until it has ended."""
        if self._has_words:
            async with aclosing(self._spoken(wake)) as spoken:
                async for event in spoken:
                    yield event
        async for recorded in self._recorded():
            yield recorded

    async def _recorded(
        self, until: str | None = None, *, before: Sequence[str] = ()
    ) -> AsyncGenerator[Event, None]:
        """What is recorded: to the end, until an item, or before the first item of some makers.

        It stops where words are to be told between. What was recorded before a job was begun again is told.
        """
        job, is_end = self._job, False
        while not is_end:
            if until is None or not self._is_ahead(until):
                is_end = await self._read()
            if self._version < 0:
                self._version, self._job, self._number = 0, "", 0
                yield self._event("reset", {})
            if until is not None and is_end and not self._is_ahead(until):
                return  # it was told before
            begun = max((stored.version for stored in self._ahead if self._is_begun(stored)), default=0)
            while self._ahead and (
                self._ahead[0].version <= begun or _maker_of(self._ahead[0]) not in before
            ):
                stored = self._ahead.popleft()
                self._version = stored.version
                event = self._event_of(stored)
                if event is not None:
                    yield event
                is_reached = until is not None and _read_head(stored.body).id == until
                if is_reached or (self._has_words and self._job != job):
                    return

    def _is_ahead(self, item_id: str) -> bool:
        return any(_read_head(stored.body).id == item_id for stored in self._ahead)

    async def _read(self) -> bool:
        """Read what comes next, and return whether that is all; a version below 0: it was removed.

        A reader at the end takes one statement. One that is far behind reads a little at a time.
        """
        after = self._ahead[-1].version if self._ahead else self._version
        is_fresh = time.monotonic() - self._ended_at < _FRESH

        def read() -> tuple[list[Stored], int]:
            store, place = self._store, self._place
            if is_fresh and (found := store.read(place, after=after)):
                return found, found[-1].version
            last = store.version(place)
            end = min(last, after + self._at_once)
            try:
                return store.read_at(place, range(after + 1, end + 1)) if end > after else [], last
            except StoreDamaged:  # it may have been removed since
                if (last := store.version(place)) >= end:
                    raise
                return [], last

        at_once = 0 if is_fresh else self._at_once
        page, last = await self._readers.read(self._place, after, at_once, read)
        self._ahead.extend(page)
        self._at_once = 1 if sum(len(stored.body) for stored in page) > _LARGE else _PAGE
        self._read_at = time.monotonic()
        is_end = last <= after + len(page)
        if is_end:
            self._ended_at = self._read_at
        if last < max(after, self._least):
            self._version, is_end = -1, False
            self._ahead.clear()
        return is_end

    async def _spoken(self, wake: asyncio.Event) -> AsyncGenerator[Event | None, None]:
        """What the running job tells, and what is recorded meanwhile, until the job has ended."""
        job, quiet, is_behind = self._job, 0.0, True
        self._readers.watch(self._store, self._place)
        async for event in self._recorded(before=("model", "tool")):
            yield event
        deltas = self._runner.deltas(*self._address, job, after=self._number)
        coming = asyncio.ensure_future(anext(deltas, None))
        try:
            while self._job == job and not self._readers.is_closed:
                done, _ = await asyncio.wait([coming], timeout=_QUIET)
                if not done:
                    quiet += _QUIET
                    if wake.is_set():
                        wake.clear()
                        async for event in self._recorded():
                            yield event
                    elif quiet >= ALIVE:
                        quiet = 0.0
                        yield None
                    continue
                one, quiet = coming.result(), 0.0
                if one is None:
                    self._has_words = False
                    return
                if one.kind == "recorded":
                    async for event in self._recorded(one.text):
                        yield event
                elif is_behind:
                    async for event in self._recorded(before=("model",)):
                        yield event
                if self._job != job:
                    return
                is_behind, self._number = one.kind == "recorded", one.number
                if one.kind != "recorded":
                    yield self._event(one.kind, {"job": job, "text": one.text})
                coming = asyncio.ensure_future(anext(deltas, None))
        finally:
            coming.cancel()
            await asyncio.wait([coming])
            await deltas.aclose()

    def _event_of(self, stored: Stored) -> Event | None:
        """What an entry tells a client; `None` if it is the session's own affair."""
        if not is_own(stored.stream):
            item = msgspec.Raw(stored.body)
            data = {"version": stored.version, "transcript": stored.stream, "item": item}
            return self._event("item", data)
        if stored.stream == USAGE:
            note = JSON.decode_item(stored.body)
            self.spent = self.spent.with_usage(note.content if isinstance(note, Note) else {})
            return None
        match _entry_in(stored):
            case TakenJob(job, lease):
                return self._taken(job, self._is_begun(stored), lease.claim)
            case EndedJob(job, stop, _, waiting, error):
                self._job, self._number, self._has_words = "", 0, False
                return self._event("ended", {"job": job, "stop": stop, "waiting": waiting, "error": error})
            case AcceptedJob(job, is_streamed=is_streamed):
                if not is_streamed:
                    self._unstreamed.add(job)
                return self._event("accepted", {"job": job})
            case _:
                return None

    def _taken(self, job: str, is_begun: bool, claim: str) -> Event | None:
        """A job is begun, or begun again by another."""
        self._claim = claim
        if not is_begun:
            return None
        if job != self._job:
            self._job, self._number, self.spent = job, 0, Spending()
        self._has_words = job not in self._unstreamed
        return self._event("begun", {"job": job})

    def _is_begun(self, stored: Stored) -> bool:
        """Whether a job was begun by another than before; a lease that is renewed is no beginning."""
        claim = _claim_in(stored)
        return claim is not None and claim != self._claim

    def _last_claim(self) -> str | None:
        """Under which claim a job was taken last before the cursor."""
        versions = self._store.versions_of(self._place, JOBS, before=self._version + 1, limit=_PAGE)
        claims = map(_claim_in, reversed(self._store.read_at(self._place, versions)))
        return next((claim for claim in claims if claim is not None), None)

    def _event(self, name: Name, data: Mapping[str, Any]) -> Event:
        return Event(str(Cursor(self._version, self._job, self._number)), name, self._version, data)


class _Head(msgspec.Struct, gc=False):
    """What is read of an item to put it in order."""

    id: str = ""
    kind: str = ""
    role: str = ""


_read_head = msgspec.json.Decoder(_Head).decode


def _claim_in(stored: Stored) -> str | None:
    """The claim of the entry that a job was taken; `None` for any other."""
    entry = _entry_in(stored)
    return entry.lease.claim if isinstance(entry, TakenJob) else None


def _entry_in(stored: Stored) -> JobEntry | None:
    return job_entry(JSON.decode_item(stored.body)) if stored.stream == JOBS else None


def _maker_of(stored: Stored) -> str:
    """Who made an item: a model, a tool, or somebody else."""
    if is_own(stored.stream):
        return ""
    head = _read_head(stored.body)
    is_of_model = head.kind in _OF_MODELS or head.role == "assistant"
    return "model" if is_of_model else "tool" if head.kind == "tool_result" else ""


async def answered(reader: Reader, job: str) -> Answer | None:
    """What comes of a job, once it has ended; the reader begins before the job.

    `None` if the service stops before.
    """
    items, has_begun, text = list[msgspec.Raw](), False, ""
    await reader.until_ended(job)
    async with aclosing(reader.events(until=job)) as events:
        async for event in events:
            if event is None:
                continue
            is_of_job = event.data.get("job") == job
            if event.name == "item":
                raw = event.data["item"]
                item = JSON.decode_item(bytes(raw))
                has_begun |= item.id == job
                items += [raw] if has_begun else []
                if isinstance(item, Message) and item.role == "assistant" and has_begun:
                    text = item.text
            elif event.name == "ended" and is_of_job:
                usage, cost = reader.spent.usage, reader.spent.cost
                said: dict[str, Any] = dict(event.data)
                return Answer(**said, text=text, items=items, version=event.version, usage=usage, cost=cost)
            else:
                has_begun |= event.name == "begun" and is_of_job
    return None


class EventResponse(StreamingResponse):
    """Sends a stream of events to a client, until it ends or the client leaves."""

    media_type = "text/event-stream"
