"""The events of a conversation: its entries in order, and between them the words of a running answer.

A reader has a cursor and pulls: it reads the log from there, and the pieces that the runner has of the
running job. So a slow client delays nobody and takes no memory. The id of an event is the cursor after it: a
client that reconnects with an id gets all later events, and none twice.

Words are a preview of items. They bypass the log, and may be dropped; items never are. The words of a
response come before its items, and after all entries that were recorded earlier.
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
from quire.service.runner import Address, Runner, Shared, Slices, wait_for
from quire.session import AcceptedJob, ClaimedJob, EndedJob, JobEntry, Spending, job_entry
from quire.stores import Place, Store, Stored
from quire.stores.store import is_internal
from quire.stores.streams import JOBS, USAGE
from quire.stores.threads import STORE
from quire.tokens import Usage

KEEP_ALIVE_SECONDS, KEEP_ALIVE = 15.0, b": alive\n\n"
"""The seconds between two keep-alives of a stream, and their bytes."""

_PAGE_ENTRIES, _LARGE_PAGE_BYTES = 16, 2**16
"""How many entries a reader that is behind reads at once. After a page of more bytes it reads one entry."""

_FRESH_SECONDS, _READ_INTERVAL_SECONDS = 5.0, 0.05
"""Seconds for which a reader counts as up to date after it reached the end, and seconds between two reads."""

_QUIET_SECONDS = 1.0
"""If a running answer has no piece for so long, entries that others recorded are sent."""

_MODEL_KINDS = ("tool_call", "reasoning")

T = TypeVar("T")
EventName = Literal["accepted", "begun", "item", "words", "thoughts", "ended", "reset"]


class Cursor(NamedTuple):
    """The position of a reader: in the log, and in the pieces of the running job."""

    version: int = 0
    job: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.version}~{quote(self.job, safe='')}~{self.number}" if self.job else str(self.version)

    @staticmethod
    def read(text: str) -> "Cursor":
        """The cursor in the id of an event."""
        version, _, rest = text.partition("~")
        job, _, number = rest.rpartition("~")
        is_number = version.isdecimal() and (number.isdecimal() or not rest)
        if not is_number or len(version) > 15 or len(number) > 15:
            raise InvalidValue("this is not the id of an event")
        return Cursor(int(version), unquote(job), int(number or 0))


class Event(NamedTuple):
    """Something that happened. The item of an `item` is raw JSON, as it is stored."""

    id: str
    name: EventName
    version: int
    """The version up to which the reader has all events."""
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The event as bytes of the stream."""
        head = f"id: {self.id}\nevent: {self.name}\ndata: ".encode()
        return head + msgspec.json.encode(self.data) + b"\n\n"


ITEM = "Item"
"""The name of the schema of items in the description of the service."""

_SCHEMA = {"$ref": f"#/components/schemas/{ITEM}"}
StoredItem = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema=_SCHEMA)]
"""An item as stored JSON, which is passed on."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a job."""

    job: str
    stop: str
    """Why the turn ended: done, waiting for a person or the client, failed, or at a limit."""
    text: str
    """The last text of the model."""
    items: list[StoredItem]
    """All items of the turn, the message that it answers included."""
    waiting: tuple[str, ...] = ()
    """The call ids of calls that wait for a decision or a result."""
    error: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    version: int = 0


class _Watched:
    """A conversation that has readers: what wakes them, and how often it changed."""

    def __init__(self) -> None:
        self.wakes: dict[asyncio.Event, None] = {}
        self.slices, self.changes = Slices(), 0
        self.unwatch: Callable[[], None] | None = None


class Readers:
    """The open readers of this process; `close` ends all of them.

    Those of one conversation are woken a few at a time, and share their reads of the store.
    """

    def __init__(self) -> None:
        self._watched: dict[Place, _Watched] = {}
        self._shared, self.closing = Shared(), asyncio.Event()

    def __len__(self) -> int:
        return sum(len(watched.wakes) for watched in self._watched.values())

    @property
    def is_closed(self) -> bool:
        """Whether all readers are to end."""
        return self.closing.is_set()

    def close(self) -> None:
        """End all readers; their clients reconnect with the id of their last event."""
        self.closing.set()
        for watched in self._watched.values():
            for wake in watched.wakes:
                wake.set()

    @contextmanager
    def following(self, place: Place) -> Generator[asyncio.Event]:
        """Yield an event that is set whenever the conversation may have changed after a call of `watch`."""
        wake, watched = asyncio.Event(), self._watched.setdefault(place, _Watched())
        watched.wakes[wake] = None
        try:
            yield wake
        finally:
            del watched.wakes[wake]
            if not watched.wakes:
                del self._watched[place]
                if watched.unwatch is not None:
                    watched.unwatch()

    def watch(self, store: Store, place: Place) -> None:
        """From now on, wake the readers of a conversation when it changes."""
        loop, watched = asyncio.get_running_loop(), self._watched[place]

        def wake_all() -> None:
            watched.changes += 1
            watched.slices.wake(watched.wakes)

        def changed() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake_all)

        if watched.unwatch is None:
            watched.unwatch = store.watch(place, changed)

    async def read(self, place: Place, after: int, limit: int, read: Callable[[], T]) -> T:
        """Read the entries after a version, once for all readers that ask before the next change."""
        return await self._shared.do((place, after, limit, self._watched[place].changes), read)


class Reader:
    """Reads the events of one conversation, from a cursor on."""

    def __init__(
        self, readers: Readers, runner: Runner, store: Store, address: Address, after: Cursor
    ) -> None:
        self._address, self._place = address, address.place
        self._readers, self._runner, self._store = readers, runner, store
        self._version, self._job, self._number = after
        self._is_streaming = bool(after.job)
        self._unstreamed: set[str] = set()  # jobs without words
        self._claim: str | None = None
        self._buffer: deque[Stored] = deque()  # entries that were read and have no event yet
        self._page_size, self._min_version = 1, 0  # a shorter log was removed
        self._read_at = self._end_at = -_FRESH_SECONDS  # when it last read, and when it last reached the end
        self.spent = Spending()
        """What the job has spent so far."""

    async def events(self, until: str | None = None) -> AsyncGenerator[Event | None, None]:
        """All events, or those until the accepted job `until` has ended; `None` is a keep-alive.

        If the conversation is removed, the job ends too.
        """
        self._min_version = int(until is not None)
        with self._readers.following(self._place) as wake:
            is_last = False
            if self._job:
                self._claim = await STORE.do(self._last_claim)
            while not is_last:
                is_last = self._readers.is_closed
                wake.clear()
                async with aclosing(self._next(wake)) as events:
                    async for event in events:
                        is_last = False  # a stopped service still sends all recorded events
                        yield event
                        if until is None or event is None:
                            continue
                        if event.name == "reset":
                            data = {"job": until, "stop": "removed", "waiting": (), "error": ""}
                            yield self._event("ended", data)
                            return
                        if event.name == "ended" and event.data["job"] == until:
                            return
                if self._readers.is_closed:
                    continue
                self._readers.watch(self._store, self._place)
                if not self._is_streaming and not await wait_for(wake, KEEP_ALIVE_SECONDS):
                    yield None
                await asyncio.sleep(max(self._read_at + _READ_INTERVAL_SECONDS - time.monotonic(), 0))

    async def until_ended(self, job: str) -> None:
        """Wait until a new job has ended, if the runner can tell, or until the service stops."""
        ended = asyncio.ensure_future(self._runner.ended(*self._address, job))
        closing = asyncio.ensure_future(self._readers.closing.wait())
        try:
            await asyncio.wait([ended, closing], return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and ended.result():
                self._end_at = time.monotonic()  # few entries are new: they are read at once
        finally:
            ended.cancel()
            closing.cancel()

    async def encoded(self, until: str | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes of the stream of events, with keep-alives."""
        yield b"retry: 1000\n\n"
        async with aclosing(self.events(until)) as events:
            async for event in events:
                yield KEEP_ALIVE if event is None else event.encoded()

    async def _next(self, wake: asyncio.Event) -> AsyncGenerator[Event | None, None]:
        """The events recorded by now; while a job is streamed, first all events until it has ended."""
        if self._is_streaming:
            async with aclosing(self._streamed(wake)) as streamed:
                async for event in streamed:
                    yield event
        async for recorded in self._recorded():
            yield recorded

    async def _recorded(
        self, last_item: str | None = None, *, before: Sequence[str] = ()
    ) -> AsyncGenerator[Event, None]:
        """The events of recorded entries, up to the end of the log.

        They end earlier with the item `last_item`, with the beginning of a streamed job, or before an item
        whose author is one of `before`. This does not hold for entries before a claim of another process:
        they are all sent, whoever their authors are.
        """
        job, is_end = self._job, False
        while not is_end:
            if last_item is None or not self._is_buffered(last_item):
                is_end = await self._read()
            if self._version < 0:
                self._version, self._job, self._number = 0, "", 0
                yield self._event("reset", {})
            if last_item is not None and is_end and not self._is_buffered(last_item):
                return  # the item was sent before
            claims = filter(self._is_new_claim, self._buffer)
            last_claim = max((stored.version for stored in claims), default=0)
            while self._buffer:
                stored = self._buffer[0]
                if stored.version > last_claim and _author_of(stored) in before:
                    break
                self._buffer.popleft()
                self._version = stored.version
                event = self._event_of(stored)
                if event is not None:
                    yield event
                is_reached = last_item is not None and _read_head(stored.body).id == last_item
                if is_reached or (self._is_streaming and self._job != job):
                    return

    def _is_buffered(self, item_id: str) -> bool:
        return any(_read_head(stored.body).id == item_id for stored in self._buffer)

    async def _read(self) -> bool:
        """Read the next entries, and return whether there are no more. A removal sets the version to -1.

        A reader that is up to date needs one query. One that is behind reads page by page.
        """
        after = self._buffer[-1].version if self._buffer else self._version
        is_fresh = time.monotonic() - self._end_at < _FRESH_SECONDS

        def read() -> tuple[list[Stored], int]:
            store, place = self._store, self._place
            if is_fresh and (entries := store.read(place, after=after)):
                return entries, entries[-1].version
            last = store.version(place)
            end = min(last, after + self._page_size)
            try:
                return store.read_at(place, range(after + 1, end + 1)) if end > after else [], last
            except StoreDamaged:  # perhaps the conversation was removed meanwhile
                if (last := store.version(place)) >= end:
                    raise
                return [], last

        limit = 0 if is_fresh else self._page_size
        page, last = await self._readers.read(self._place, after, limit, read)
        self._buffer.extend(page)
        self._page_size = 1 if sum(len(stored.body) for stored in page) > _LARGE_PAGE_BYTES else _PAGE_ENTRIES
        self._read_at = time.monotonic()
        is_end = last <= after + len(page)
        if is_end:
            self._end_at = self._read_at
        if last < max(after, self._min_version):
            self._version, is_end = -1, False
            self._buffer.clear()
        return is_end

    async def _streamed(self, wake: asyncio.Event) -> AsyncGenerator[Event | None, None]:
        """The events of pieces and entries until the running job has ended."""
        job, quiet_seconds = self._job, 0.0
        has_unread = True  # whether entries may have been recorded before the next words
        self._readers.watch(self._store, self._place)
        async for event in self._recorded(before=("model", "tool")):
            yield event
        deltas = self._runner.deltas(*self._address, job, after=self._number)
        next_piece = asyncio.ensure_future(anext(deltas, None))
        try:
            while self._job == job and not self._readers.is_closed:
                done, _ = await asyncio.wait([next_piece], timeout=_QUIET_SECONDS)
                if not done:
                    quiet_seconds += _QUIET_SECONDS
                    if wake.is_set():
                        wake.clear()
                        async for event in self._recorded():
                            yield event
                    elif quiet_seconds >= KEEP_ALIVE_SECONDS:
                        quiet_seconds = 0.0
                        yield None
                    continue
                piece, quiet_seconds = next_piece.result(), 0.0
                if piece is None:
                    self._is_streaming = False
                    return
                if piece.kind == "recorded":
                    async for event in self._recorded(piece.text):
                        yield event
                elif has_unread:
                    async for event in self._recorded(before=("model",)):
                        yield event
                if self._job != job:
                    return
                has_unread, self._number = piece.kind == "recorded", piece.number
                if piece.kind != "recorded":
                    yield self._event(piece.kind, {"job": job, "text": piece.text})
                next_piece = asyncio.ensure_future(anext(deltas, None))
        finally:
            next_piece.cancel()
            await asyncio.wait([next_piece])
            await deltas.aclose()

    def _event_of(self, stored: Stored) -> Event | None:
        """The event of an entry; `None` if the entry is internal."""
        if not is_internal(stored.stream):
            item = msgspec.Raw(stored.body)
            data = {"version": stored.version, "transcript": stored.stream, "item": item}
            return self._event("item", data)
        if stored.stream == USAGE:
            note = JSON.decode_item(stored.body)
            self.spent = self.spent.with_usage(note.content if isinstance(note, Note) else {})
            return None
        match _entry_in(stored):
            case ClaimedJob(job, lease):
                return self._claimed(job, self._is_new_claim(stored), lease.claim)
            case EndedJob(job, stop, _, waiting, error):
                self._job, self._number, self._is_streaming = "", 0, False
                return self._event("ended", {"job": job, "stop": stop, "waiting": waiting, "error": error})
            case AcceptedJob(job, is_streamed=is_streamed):
                if not is_streamed:
                    self._unstreamed.add(job)
                return self._event("accepted", {"job": job})
            case _:
                return None

    def _claimed(self, job: str, is_new: bool, claim: str) -> Event | None:
        """The event of a claim: a job has begun, or another process has taken it over."""
        self._claim = claim
        if not is_new:
            return None
        if job != self._job:
            self._job, self._number, self.spent = job, 0, Spending()
        self._is_streaming = job not in self._unstreamed
        return self._event("begun", {"job": job})

    def _is_new_claim(self, stored: Stored) -> bool:
        """Whether an entry claims a job for another process; one that renews a lease does not."""
        claim = _claim_in(stored)
        return claim is not None and claim != self._claim

    def _last_claim(self) -> str | None:
        """The last claim of a job before the cursor."""
        versions = self._store.versions_of(self._place, JOBS, before=self._version + 1, limit=_PAGE_ENTRIES)
        claims = map(_claim_in, reversed(self._store.read_at(self._place, versions)))
        return next((claim for claim in claims if claim is not None), None)

    def _event(self, name: EventName, data: Mapping[str, Any]) -> Event:
        return Event(str(Cursor(self._version, self._job, self._number)), name, self._version, data)


class _Head(msgspec.Struct, gc=False):
    """The fields of an item that decide the order of events."""

    id: str = ""
    kind: str = ""
    role: str = ""


_read_head = msgspec.json.Decoder(_Head).decode


def _claim_in(stored: Stored) -> str | None:
    """The name of the claim that an entry records; `None` if it records none."""
    entry = _entry_in(stored)
    return entry.lease.claim if isinstance(entry, ClaimedJob) else None


def _entry_in(stored: Stored) -> JobEntry | None:
    return job_entry(JSON.decode_item(stored.body)) if stored.stream == JOBS else None


def _author_of(stored: Stored) -> str:
    """The author of an item: a model, a tool, or empty for others."""
    if is_internal(stored.stream):
        return ""
    head = _read_head(stored.body)
    is_of_model = head.kind in _MODEL_KINDS or head.role == "assistant"
    return "model" if is_of_model else "tool" if head.kind == "tool_result" else ""


async def wait_for_answer(reader: Reader, job: str) -> Answer | None:
    """The result of a job, once it has ended. The reader has to begin before the job.

    `None` if the service stops first.
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
                fields: dict[str, Any] = dict(event.data)
                return Answer(**fields, text=text, items=items, version=event.version, usage=usage, cost=cost)
            else:
                has_begun |= event.name == "begun" and is_of_job
    return None


class EventResponse(StreamingResponse):
    """Sends a stream of events to a client, until it ends or the client disconnects."""

    media_type = "text/event-stream"
