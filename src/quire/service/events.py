"""The events of a conversation: what is recorded, in order, and between it the words of a running answer.

A reader has a cursor and pulls: it reads the log from there, and what the runner has told of the job that
runs. So a slow client holds nobody up and takes no memory. The id of an event is the cursor after it; whoever
comes back with an id gets all that follows, and nothing twice.

Words are a preview of items. They are told beside the log, and may be dropped; items never are. The order is
that of the record: the words of a response come before its items, and after all that was recorded earlier.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from starlette.types import Receive, Scope, Send

from quire.errors import InvalidValue
from quire.items import JSON, Message, Note
from quire.service.runner import Runner
from quire.session import Spending
from quire.stores import Place, Store, Stored, items_in
from quire.stores.store import is_own
from quire.stores.streams import JOBS, USAGE
from quire.stores.threads import STORE
from quire.tokens import Usage

ALIVE, ALIVE_SIGN = 15.0, b": alive\n\n"
"""The sign of life in a stream, and the seconds between two of them."""

_PAGE, _MANY_BYTES = 64, 2**16
"""Entries that are read at once; fewer after entries that have many bytes."""

_QUIET = 1.0
"""Seconds without words, after which what others recorded is shown though a turn runs."""

_ANSWERS = ("tool_call", "tool_result", "reasoning")

Name = Literal["accepted", "begun", "item", "words", "thoughts", "call", "ended", "reset"]


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
        return b"id: %b\nevent: %b\ndata: %b\n\n" % (
            self.id.encode(),
            self.name.encode(),
            msgspec.json.encode(self.data),
        )


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job."""

    job: str
    stop: str
    """Why the turn ended: done, waiting for a person or the client, failed, or a limit that was reached."""
    text: str
    """The last text of the model."""
    items: list[msgspec.Raw]
    """All items that the turn recorded, the message that it answers included."""
    waiting: tuple[str, ...] = ()
    """The call ids of calls that wait for a decision or a result."""
    error: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    version: int = 0


class Readers:
    """The readers that are open in this process: they all end when it is closed."""

    def __init__(self) -> None:
        self._open: set[asyncio.Event] = set()
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End all readers; their clients come back with the id of the last event they had."""
        self.is_closed = True
        for wake in self._open:
            wake.set()

    def enter(self) -> asyncio.Event:
        """Count a reader; the event wakes it."""
        wake = asyncio.Event()
        self._open.add(wake)
        return wake

    def leave(self, wake: asyncio.Event) -> None:
        """Count a reader no more."""
        self._open.discard(wake)


class Reader:
    """Reads the events of one conversation, from a cursor on."""

    def __init__(
        self, readers: Readers, runner: Runner, store: Store, address: Sequence[str], after: Cursor
    ) -> None:
        """`address` is the agent, the scope and the conversation, as the node knows it."""
        agent, scope, conversation = address
        self._address = (agent, scope, conversation)
        self._readers, self._runner, self.store = readers, runner, store
        self.place = Place(f"{agent}/{scope}", conversation)
        self._version, self._job, self._number = after
        self._at_once = 4
        self._claim: str | None = None
        self._has_words = bool(after.job)
        self._unstreamed: set[str] = set()  # jobs that tell no words

    async def events(self, until: str | None = None) -> AsyncGenerator[Event | None, None]:
        """The events, without an end, or until a job has ended; `None` is a sign of life."""
        loop, wake = asyncio.get_running_loop(), self._readers.enter()

        def changed() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake.set)

        unwatch = self.store.watch(self.place, changed)
        try:
            while not self._readers.is_closed:
                wake.clear()
                async with aclosing(self._next(wake)) as events:
                    async for event in events:
                        yield event
                        if event is not None and event.name == "ended" and event.data["job"] == until:
                            return
                if not self._has_words and not await _woken(wake, ALIVE):
                    yield None
        finally:
            self._readers.leave(wake)
            unwatch()

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
        self, to: int | None = None, *, before_answer: bool = False
    ) -> AsyncGenerator[Event, None]:
        """What is recorded up to a version, or to the end; it stops where words are to be told between.

        With `before_answer` it stops before the first item that a model or a tool made.
        """
        job = self._job
        while True:
            last = await STORE.do(self.store.version, self.place) if to is None else to
            if last < self._version and to is None:
                self._version, self._job, self._number = 0, "", 0
                yield self._event("reset", {})  # the conversation was removed
            if last <= self._version:
                return
            span = range(self._version + 1, min(last, self._version + self._at_once) + 1)
            page = await STORE.do(self.store.read_at, self.place, span)
            is_large = sum(len(stored.body) for stored in page) > _MANY_BYTES
            self._at_once = 1 if is_large else min(2 * self._at_once, _PAGE)
            for stored in page:
                if before_answer and _is_answer(stored):
                    return
                self._version = stored.version
                event = self._event_of(stored)
                if event is not None:
                    yield event
                if self._has_words and self._job != job:
                    return

    async def _spoken(self, wake: asyncio.Event) -> AsyncGenerator[Event | None, None]:
        """What the running job tells, and what is recorded meanwhile, until the job has ended."""
        job, quiet, is_behind = self._job, 0.0, True
        deltas = self._runner.deltas(*self._address, job, after=self._number)
        coming = asyncio.ensure_future(anext(deltas, None))
        try:
            while not self._readers.is_closed:
                done, _ = await asyncio.wait([coming], timeout=_QUIET)
                if not done:
                    quiet += _QUIET
                    if wake.is_set():
                        wake.clear()
                        async for event in self._recorded():
                            yield event
                        if self._job != job:
                            return  # it has ended
                    elif quiet >= ALIVE:
                        quiet = 0.0
                        yield None
                    continue
                one, quiet = coming.result(), 0.0
                if one is None:
                    self._has_words = False
                    return
                if one.kind == "recorded":
                    async for event in self._recorded(await STORE.do(self._version_of, one.text)):
                        yield event
                elif is_behind:
                    async for event in self._recorded(before_answer=True):
                        yield event
                if self._job != job:
                    return  # it has ended
                is_behind, self._number = one.kind == "recorded", one.number
                if one.kind == "began":
                    yield self._event("call", {"job": self._job, "call_id": one.text})
                elif one.kind != "recorded":
                    yield self._event(one.kind, {"job": self._job, "text": one.text})
                coming = asyncio.ensure_future(anext(deltas, None))
        finally:
            coming.cancel()
            await asyncio.wait([coming])
            await deltas.aclose()

    def _version_of(self, item_id: str) -> int:
        """The version of an item that comes after the cursor; 0 if it came before."""
        start, last = self._version, self.store.version(self.place)
        while start < last:
            page = self.store.read_at(self.place, range(start + 1, min(last, start + _PAGE) + 1))
            for stored in page:
                if not is_own(stored.stream) and _head(stored).id == item_id:
                    return stored.version
            start = page[-1].version
        return 0

    def _event_of(self, stored: Stored) -> Event | None:
        """What an entry tells a client; `None` if it is the session's own affair."""
        if not is_own(stored.stream):
            item = msgspec.Raw(stored.body)
            data = {"version": stored.version, "transcript": stored.stream, "item": item}
            return self._event("item", data)
        note = JSON.decode_item(stored.body) if stored.stream == JOBS else None
        if not isinstance(note, Note):
            return None
        content: Mapping[str, Any] = note.content or {}
        if note.key == "job":
            if not content.get("is_streamed"):
                self._unstreamed.add(content["job"])
            return self._event("accepted", {"job": content["job"]})
        if note.key == "taken":
            return self._taken(content["taken"], content["claim"])
        if note.key == "ended":
            self._job, self._number, self._has_words = "", 0, False
            told = {"stop": content["stop"], "waiting": content.get("waiting", ())}
            return self._event("ended", {"job": content["job"], **told, "error": content.get("error", "")})
        return None

    def _taken(self, job: str, claim: str) -> Event | None:
        """A job is begun, or begun again by another; a lease that is renewed is no event."""
        is_renewed = job == self._job and self._claim in (None, claim)
        self._claim = claim
        if is_renewed:
            return None
        if job != self._job:
            self._job, self._number = job, 0
        self._has_words = job not in self._unstreamed
        return self._event("begun", {"job": job})

    def _event(self, name: Name, data: Mapping[str, Any]) -> Event:
        return Event(str(Cursor(self._version, self._job, self._number)), name, self._version, data)


async def _woken(wake: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(wake.wait(), seconds)
        return True
    return False


class _Head(msgspec.Struct, gc=False):
    """What is read of an item to put it in order."""

    id: str = ""
    kind: str = ""
    role: str = ""


_read_head = msgspec.json.Decoder(_Head).decode


def _head(stored: Stored) -> _Head:
    return _read_head(stored.body)


def _is_answer(stored: Stored) -> bool:
    """Whether a model or a tool made an entry."""
    if is_own(stored.stream):
        return False
    head = _head(stored)
    return head.kind in _ANSWERS or (head.kind == "message" and head.role == "assistant")


async def answered(reader: Reader, job: str) -> Answer | None:
    """What comes of a job, once it has ended; the reader begins before the job.

    `None` if the service stops before.
    """
    items, begun = list[msgspec.Raw](), 0
    async with aclosing(reader.events(until=job)) as events:
        async for event in events:
            if event is None:
                continue
            is_of_job = event.data.get("job") == job
            if event.name == "item":
                raw = event.data["item"]
                begun = begun or (event.version if _read_head(raw).id == job else 0)
                items += [raw] if begun else []
            elif event.name == "begun" and is_of_job:
                begun = begun or event.version
            elif event.name == "ended" and is_of_job:
                spent = await STORE.do(spent_between, reader.store, reader.place, begun, event.version)
                return Answer(
                    job=job,
                    stop=event.data["stop"],
                    text=_last_text(items),
                    items=items,
                    waiting=tuple(event.data["waiting"]),
                    error=event.data["error"],
                    usage=spent.usage,
                    cost=spent.cost,
                    version=event.version,
                )
    return None


def _last_text(items: Sequence[msgspec.Raw]) -> str:
    for raw in reversed(items):
        item = JSON.decode_item(bytes(raw))
        if isinstance(item, Message) and item.role == "assistant":
            return item.text
    return ""


def spent_between(store: Store, place: Place, after: int, to: int) -> Spending:
    """What was used between two versions."""
    versions = [at for at in store.versions_of(place, USAGE, before=to + 1) if at > after]
    spent = Spending()
    for note in items_in(place, store.read_at(place, versions)) if versions else ():
        if isinstance(note, Note):
            spent = spent.with_usage(note.content)
    return spent


def turn_start(store: Store, place: Place) -> int:
    """The version after which the turn that runs or waits begins; that of the conversation if none does."""
    version, before = store.version(place), None
    is_pending = False
    while versions := store.versions_of(place, JOBS, before=before, limit=_PAGE):
        rows = list(zip(versions, items_in(place, store.read_at(place, versions)), strict=True))
        for at, note in reversed(rows):
            if isinstance(note, Note) and note.key == "ended":
                return at if is_pending else version
            is_pending = is_pending or isinstance(note, Note)
        before = versions[0]
    return 0 if is_pending else version


class EventResponse:
    """Sends a stream of events to a client, until it ends or the client leaves."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], headers: Mapping[str, str] | None = None) -> None:
        self._chunks = chunks
        self._headers = {"content-type": "text/event-stream", "x-accel-buffering": "no", **(headers or {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        tasks = [asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_left(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not tasks[0].cancelled():
            tasks[0].result()

    async def _send(self, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
