"""The application: the agents of a node over HTTP. Each route says itself what it takes and answers."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

import msgspec
from msgspec import Meta, Raw
from msgspec.structs import astuple
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from quire.agent import Agent
from quire.agent.turn import WhileBusy
from quire.errors import InvalidValue, StoreError, UnknownId, cut
from quire.items import JSON, Content, Item, Message, now, prepared
from quire.node import Node
from quire.reading import Source
from quire.reading.conversations import Conversation, list_conversations
from quire.reading.jobs import JobPage, JobRow, JobState, list_jobs, list_open_jobs, read_job
from quire.reading.requests import Request as SentRequest, RequestRow, list_requests, read_request
from quire.reading.source import Count, Fields, Limit
from quire.service.boundary import Boundary
from quire.service.events import Answer, Cursor, EventResponse, StoredItem, answered
from quire.service.keys import Keys
from quire.service.metrics import CONTENT_TYPE
from quire.service.openai import OpenAI
from quire.service.openapi import Accepted, description, operation, routes_of
from quire.service.problems import Problem, document, problem_of, unavailable
from quire.service.runner import LONGEST_DELAY, LocalRunner, Runner
from quire.service.service import Address, Service, converted, digest_of, job_id_of, query_of, trace_of
from quire.session import (
    Job,
    ScopeContents,
    Session,
    Spending,
    erase_scopes,
    log_of,
    survey_scopes,
    version_before_job,
    version_before_work,
)
from quire.stores import place_at
from quire.stores.threads import STORE

_LARGEST = 10**15
_LONGEST_WAIT = 600.0
_READY = 5.0
"""Seconds within which the store answers where the service is ready."""

Seconds = Annotated[float, Meta(ge=0, le=LONGEST_DELAY)]


# What is asked and answered


@prepared
class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the user; with a `delay` it is answered so many seconds later."""

    content: Content
    delay: Seconds = 0.0
    parameters: dict[str, Any] = {}
    """Values for the sections of the agent's template."""
    stream: bool = False
    """Whether the words of the answer are told to those who follow the events."""
    while_busy: WhileBusy = "queue"
    """What it does while a turn runs: wait, end the turn, be refused, or be shown to its next request."""


@prepared
class NewDecisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Verdicts on calls that wait, by call id: true runs a call, false or a reason refuses it."""

    decisions: dict[str, bool | str]
    parameters: dict[str, Any] = {}
    stream: bool = False


@prepared
class NewFork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another conversation with the past of this one: all of it, or up to a version or an item."""

    name: str
    at: int | str | None = None


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of a list is asked for."""

    limit: Limit = 50
    cursor: Annotated[str, Meta(description="`next` of the page before")] = ""


class JobQuery(PageQuery, frozen=True, kw_only=True):
    """Which jobs are asked for."""

    state: JobState | None = None


class RequestQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests to models are asked for."""

    limit: Limit = 50
    cursor: Annotated[Count, Meta(description="`next` of the page before")] = _LARGEST


class ItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which items are asked for."""

    limit: Limit = 50
    after: Annotated[Count, Meta(description="how many to leave out")] = 0


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """From where on events are asked for."""

    after: Annotated[str | None, Meta(description="the id of an event")] = None


# What is answered


class Status(msgspec.Struct, frozen=True):
    """How the service is."""

    status: Literal["ok", "ready"]


class ConversationPage(msgspec.Struct, frozen=True):
    """Conversations, the latest first; `next` is the cursor of the page after it."""

    conversations: Sequence[Conversation]
    next: str | None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a conversation stands; `events` is where it is followed from."""

    conversation: str
    version: int
    items: int
    state: Literal["running", "waiting", "idle"]
    waiting: Sequence[StoredItem]
    jobs: Sequence[str]
    spending: Spending
    events: str


class ItemPage(msgspec.Struct, frozen=True):
    """Items in the order of their record, of `length` in all; `next` is `after` of the page after it."""

    items: Sequence[StoredItem]
    next: int | None
    length: int
    events: str


class Erased(msgspec.Struct, frozen=True):
    """What was kept of each scope that is erased."""

    scopes: Sequence[ScopeContents]


class WaitingCalls(msgspec.Struct, frozen=True):
    """The calls that wait for a person, or for the client."""

    calls: Sequence[StoredItem]


class Forked(msgspec.Struct, frozen=True):
    """A conversation with the past of another."""

    conversation: str
    version: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What the model would see: items, sections, and what became of each candidate."""

    model: str | None
    tokens: int
    available: int
    items: Sequence[StoredItem]
    sections: Sequence[Fields]
    entries: Sequence[Fields]


class RequestPage(msgspec.Struct, frozen=True):
    """Requests that were sent to models, newest first; `next` is the cursor of the page after it."""

    receipts: Sequence[RequestRow]
    next: str | None


_ALL = "/agents/{agent}/conversations"
_ONE = f"{_ALL}/{{conversation}}"


def app(
    node: Node,
    *,
    runner: Runner | None = None,
    keys: Keys | None = None,
    most: int = 1_000,
    largest: int = 16 * 2**20,
    read_timeout: float = 60.0,
    grace: float = 30.0,
) -> Starlette:
    """Make the service of a node, to run with an ASGI server.

    The `runner` does the jobs; by default this process does. Without `keys` only programs of this machine are
    answered, and each conversation is a scope of its own. While `most` jobs wait or run, messages are refused
    with 503. `largest` is the size of a body in bytes, and `read_timeout` the seconds in which it is sent.
    When the server ends, running turns have `grace` seconds.
    """
    service = Service(node, runner or LocalRunner(node), most, grace)
    made = Starlette(
        routes=[*routes_of(_Routes(service)), *routes_of(OpenAI(service))],
        exception_handlers={HTTPException: _refused},
        lifespan=lambda _: service.running(),
    )
    made.router.redirect_slashes = False
    made.add_middleware(Boundary, keys, largest, read_timeout, service.metrics)
    made.state.service = service
    return made


async def _refused(request: Request, fault: Exception) -> Response:
    return document(problem_of(fault), request.scope["path"])


class _Routes:
    """The native routes."""

    def __init__(self, service: Service) -> None:
        self._service, self._description = service, dict[str, Any]()

    # The service itself

    @operation("GET", "/health")
    async def health(self, request: Request) -> Status:
        """Whether the process answers."""
        return Status("ok")

    @operation("GET", "/ready")
    async def ready(self, request: Request) -> Status:
        """Whether the store answers, and messages are accepted."""
        if self._service.is_stopping:
            raise unavailable("the service is stopping")
        try:
            async with asyncio.timeout(_READY):
                await STORE.do(self._service.node.store.version, place_at(conversation="ready"))
        except TimeoutError:
            raise unavailable("the store does not answer") from None
        return Status("ready")

    @operation("GET", "/metrics")
    async def metrics(self, request: Request) -> Response:
        """Figures for Prometheus."""
        if not self._service.caller(request).reads_metrics:
            raise Problem(403, "this key may not read the metrics")
        return Response(self._service.metrics.text(), media_type=CONTENT_TYPE)

    @operation("GET", "/openapi.json")
    async def openapi(self, request: Request) -> dict[str, Any]:
        """This description."""
        self._description = self._description or description(request.app.routes)
        return self._description

    @operation("DELETE", "/scope")
    async def erase(self, request: Request) -> Erased:
        """Erase all that is kept of the caller's scope: of a person, where each has a scope."""
        caller = self._service.caller(request)
        if not caller.may_erase:
            raise Problem(403, "only a key with `erases = true` may erase its scope")

        def erase() -> Erased:
            store, found = self._service.node.store, list[ScopeContents]()
            for agent in caller.agents or self._service.node.agents:
                with suppress(UnknownId):  # nothing is kept there
                    found += survey_scopes(store, f"{agent}/{caller.scope}")
            for _ in erase_scopes(store, [one.scope for one in found]):
                pass
            return Erased(found)

        return await STORE.do(erase)

    # Conversations

    @operation("GET", _ALL, query=PageQuery)
    async def conversations(self, request: Request) -> ConversationPage:
        """The conversations, by last activity."""
        (source, within), asked = self._scope(request), query_of(request, PageQuery)
        page = await STORE.do(list_conversations, source, within, after=asked.cursor, limit=asked.limit)
        return ConversationPage(page.rows, page.next)

    @operation("GET", _ONE)
    async def head(self, request: Request) -> Head:
        """Where a conversation stands."""
        address = self._address(request)
        session = await self._service.session(address)
        calls = await self._waiting(address, session)
        return Head(
            conversation=address.conversation,
            version=session.version,
            items=session.view().end,
            state="running" if session.jobs.current else "waiting" if calls else "idle",
            waiting=_raw(calls),
            jobs=[job.id for job in session.jobs.pending()],
            spending=session.spending,
            events=_events_of(address, session),
        )

    @operation("DELETE", _ONE)
    async def forget(self, request: Request) -> None:
        """Erase the content of a conversation."""
        session = await self._service.session(self._address(request))
        await session.aio.forget()

    @operation("GET", f"{_ONE}/items", query=ItemQuery)
    async def items(self, request: Request) -> ItemPage:
        """The items, in the order of their record."""
        address = self._address(request)
        asked = query_of(request, ItemQuery)
        session = await self._service.session(address)
        events = _events_of(address, session)

        def read() -> ItemPage:
            view = session.view()
            end = min(asked.after + asked.limit, view.end)
            items = _raw(view.log.items(asked.after, end)) if asked.after < end else []
            return ItemPage(items, end if end < view.end else None, view.end, events)

        return await STORE.do(read)

    @operation("DELETE", f"{_ONE}/items/{{item}}")
    async def forget_item(self, request: Request) -> None:
        """Erase the content of an item, and of what was made of it."""
        session = await self._service.session(self._address(request))
        await session.aio.forget(_name(request, "item"))

    @operation("GET", f"{_ONE}/waiting")
    async def waiting(self, request: Request) -> WaitingCalls:
        """The calls that wait for a person, or for the client."""
        address = self._address(request)
        session = await self._service.session(address)
        return WaitingCalls(_raw(await self._waiting(address, session)))

    @operation("POST", f"{_ONE}/forks", body=NewFork, status=201)
    async def fork(self, request: Request) -> Forked:
        """Begin another conversation with the past of this one."""
        session = await self._service.session(self._address(request))
        asked = await self._service.body(request, NewFork)
        made = await session.aio.fork(asked.name, at=asked.at)
        return Forked(made.place.conversation, made.version)

    # Jobs

    @operation("GET", "/agents/{agent}/jobs", query=JobQuery)
    async def open_jobs(self, request: Request) -> JobPage:
        """The jobs of all conversations that have not ended."""
        (source, within), asked = self._scope(request), query_of(request, JobQuery)
        return await STORE.do(list_open_jobs, source, within, *astuple(asked))

    @operation("GET", f"{_ONE}/jobs", query=JobQuery)
    async def jobs(self, request: Request) -> JobPage:
        """The jobs of a conversation: first those that have not ended, then the others, newest first."""
        asked = query_of(request, JobQuery)
        return await STORE.do(list_jobs, *self._source(request), *astuple(asked))

    @operation("GET", f"{_ONE}/jobs/{{job}}")
    async def job(self, request: Request) -> JobRow:
        """One job: how far it is, or how it ended."""
        return await STORE.do(read_job, *self._source(request), _name(request, "job"))

    @operation("POST", f"{_ONE}/jobs/{{job}}/cancel")
    async def cancel(self, request: Request) -> JobRow:
        """Cancel a job: one that waits never starts, one that runs ends at its next safe point."""
        address = self._address(request)
        session = await self._service.session(address)
        await self._service.runner.cancel(session, *address, _name(request, "job"))
        return await self.job(request)

    @operation("POST", f"{_ONE}/jobs/{{job}}/retry")
    async def retry(self, request: Request) -> Accepted:
        """Go on with a job that failed, if nothing was said since, by another job."""
        address = self._address(request)
        session = await self._service.session(address)
        return await self._accepted(address, await session.jobs.retry(_name(request, "job")))

    @operation("POST", f"{_ONE}/messages", body=NewMessage, is_job=True)
    async def message(self, request: Request) -> Answer | Accepted | EventResponse:
        """Send a message."""
        address, asked = self._address(request), await self._service.body(request, NewMessage)
        if not asked.content:
            raise InvalidValue("the content of a message is empty")
        begins = now() + asked.delay if asked.delay else 0.0
        given = {"message": Message("user", asked.content), "not_before": begins}
        given["steers"] = asked.while_busy == "steer"
        return await self._answer(request, address, asked, asked.while_busy, **given)

    @operation("POST", f"{_ONE}/decisions", body=NewDecisions, is_job=True)
    async def decide(self, request: Request) -> Answer | Accepted | EventResponse:
        """Approve or refuse calls that wait."""
        address, asked = self._address(request), await self._service.body(request, NewDecisions)
        if not asked.decisions:
            raise InvalidValue("decisions are missing")
        session = await self._service.session(address)
        calls = {name for call in await self._waiting(address, session) for name in (call.id, call.call_id)}
        job_id = job_id_of(request, address)
        unknown = next((name for name in asked.decisions if name not in calls), None)
        is_known = job_id and await STORE.do(version_before_job, log_of(session), job_id) is not None
        if unknown is not None and not is_known:
            raise UnknownId(f"no call {cut(unknown)!r} waits for a decision")
        return await self._answer(request, address, asked, "queue", decisions=asked.decisions)

    async def _answer(
        self,
        request: Request,
        address: Address,
        asked: NewMessage | NewDecisions,
        while_busy: WhileBusy,
        **given: Any,
    ) -> Answer | Accepted | EventResponse:
        """Submit a job and answer as the client prefers: by events, by the answer, or at once."""
        given["is_streamed"] = asked.stream or _wants_events(request)
        given |= {"id": job_id_of(request, address), "digest": await digest_of(request)}
        given["trace"] = trace_of(request)
        job = Job.of(**given, parameters=asked.parameters)
        accepted = await self._accepted(address, job, while_busy)
        reader = self._service.reader(address, Cursor(accepted.version))
        if _wants_events(request):
            return EventResponse(reader.encoded(until=job.id))
        if seconds := _preferred_wait(request):
            try:
                async with asyncio.timeout(seconds):
                    if (answer := await answered(reader, job.id)) is not None:
                        return answer
            except TimeoutError:
                pass
        return accepted

    async def _accepted(self, address: Address, job: Job, while_busy: WhileBusy = "queue") -> Accepted:
        version = await self._service.submit(address, job, while_busy)
        return Accepted(job=job.id, version=version, events=f"{address.path}/events?after={version}")

    @operation("GET", f"{_ONE}/events", query=EventQuery)
    async def events(self, request: Request) -> EventResponse:
        """What happens: from the turn that runs on, or after an event."""
        address = self._address(request)
        session = await self._service.session(address)
        given = request.headers.get("last-event-id") or query_of(request, EventQuery).after
        after = Cursor(version_before_work(log_of(session))) if given is None else Cursor.read(given)
        return EventResponse(self._service.reader(address, after).encoded())

    # What the model sees

    @operation("GET", f"{_ONE}/context")
    async def context(self, request: Request) -> Preview:
        """What the model would see now, and why."""
        address = self._address(request)
        await self._service.session(address)
        made = await (await self._agent(address)).preview()
        receipt = made.receipt
        return Preview(
            model=made.model,
            tokens=receipt.tokens,
            available=receipt.available,
            items=_raw(made.items),
            sections=[line._asdict() for line in receipt.lines()],
            entries=[entry._asdict() for entry in receipt.entries],
        )

    @operation("GET", f"{_ONE}/receipts", query=RequestQuery)
    async def receipts(self, request: Request) -> RequestPage:
        """The requests that were sent to models, newest first."""
        (source, place), asked = self._source(request), query_of(request, RequestQuery)

        def read() -> RequestPage:
            newer = sum(version >= asked.cursor for version in source.session(place).receipts.versions())
            page = list_requests(source, place, limit=asked.limit, skip=newer, brief=True)
            rows = page["rows"][::-1]
            return RequestPage(rows, str(rows[-1].version) if page["has_more"] else None)

        return await STORE.do(read)

    @operation("GET", f"{_ONE}/receipts/{{receipt}}")
    async def receipt(self, request: Request) -> SentRequest:
        """One request, by its version: its sections, and what became of each candidate."""
        version = converted(_name(request, "receipt"), Count, "a receipt")
        return await STORE.do(read_request, *self._source(request), version)

    def _address(self, request: Request) -> Address:
        return self._service.address(request, _name(request, "agent"), _name(request, "conversation"))

    def _source(self, request: Request) -> tuple[Source, str]:
        """Reads the scope of a conversation, and the address of the conversation there."""
        address = self._address(request)
        return self._service.source(address), str(address.place)

    def _scope(self, request: Request) -> tuple[Source, str]:
        """Where the conversations of an agent are that the caller may see, and their scope as an address.

        Where each conversation is a scope of its own, what they share of their names ends with a slash.
        """
        named = self._service.address(request, _name(request, "agent"), "list").place.named
        source = Source(self._service.node.store, scope=None if named.endswith("/") else named)
        return source, f"{quote(named, safe='')}/"

    async def _waiting(self, address: Address, session: Session) -> tuple[Any, ...]:
        """The calls that wait for a person; the agent is only made if there may be one."""
        if session.jobs.current is not None or not session.calls.standing():
            return ()
        return await STORE.do((await self._agent(address)).waiting)

    async def _agent(self, address: Address) -> Agent:
        try:
            return await self._service.node.worker(*address).open()
        except StoreError:
            raise
        except Exception as fault:
            raise Problem(500, f"the agent cannot be made: {type(fault).__name__}") from fault


# Requests and answers


def _name(request: Request, part: str) -> str:
    """A name in the path, decoded."""
    try:
        return unquote(request.path_params[part], errors="strict")
    except UnicodeDecodeError:
        raise InvalidValue("the path escapes bytes that are not UTF-8") from None


def _wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "").lower()


def _preferred_wait(request: Request) -> float:
    """The seconds of `Prefer: wait=30`."""
    for preference in request.headers.get("prefer", "").split(","):
        name, _, seconds = preference.strip().partition("=")
        if name.lower() == "wait" and seconds.isascii() and seconds.isdecimal() and len(seconds) < 10:
            return min(float(seconds), _LONGEST_WAIT)
    return 0.0


def _events_of(address: Address, session: Session) -> str:
    """Where a conversation is followed from: the turn that runs, or now."""
    return f"{address.path}/events?after={version_before_work(log_of(session))}"


def _raw(items: Iterable[Item]) -> list[Raw]:
    return [Raw(JSON.encode_item(item)) for item in items]
