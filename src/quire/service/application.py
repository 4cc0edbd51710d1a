"""The application: the agents of a node over HTTP. Each route declares its own request and response."""

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
from quire.service.events import Answer, Cursor, EventResponse, StoredItem, wait_for_answer
from quire.service.keys import Keys
from quire.service.metrics import CONTENT_TYPE
from quire.service.openai import OpenAI
from quire.service.openapi import Accepted, description, operation, routes_of
from quire.service.problems import Problem, document, problem_of, unavailable
from quire.service.runner import MAX_DELAY_SECONDS, LocalRunner, Runner
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

_MAX_VERSION = 10**15
_MAX_WAIT_SECONDS = 600.0
_READY_SECONDS = 5.0
"""The time in which the store of a ready service has to answer."""

Seconds = Annotated[float, Meta(ge=0, le=MAX_DELAY_SECONDS)]


# Requests


@prepared
class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the user; it is answered after `delay` seconds."""

    content: Content
    delay: Seconds = 0.0
    parameters: dict[str, Any] = {}
    """Values for the sections of the agent's template."""
    stream: bool = False
    """Whether the events contain the words of the answer while it is written."""
    while_busy: WhileBusy = "queue"
    """What to do while a turn runs: wait, end the turn, refuse, or show the message to its next request."""


@prepared
class NewDecisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decisions on waiting calls by their ids: true approves a call, false or a reason refuses it."""

    decisions: dict[str, bool | str]
    parameters: dict[str, Any] = {}
    stream: bool = False


@prepared
class NewFork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fork of the conversation: of all of it, or up to a version or an item."""

    name: str
    at: int | str | None = None


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a list."""

    limit: Limit = 50
    cursor: Annotated[str, Meta(description="`next` of the page before")] = ""


class JobQuery(PageQuery, frozen=True, kw_only=True):
    """The jobs to list."""

    state: JobState | None = None


class RequestQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The requests to models to list."""

    limit: Limit = 50
    cursor: Annotated[Count, Meta(description="`next` of the page before")] = _MAX_VERSION


class ItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The items to list."""

    limit: Limit = 50
    after: Annotated[Count, Meta(description="how many to skip")] = 0


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the events begin."""

    after: Annotated[str | None, Meta(description="the id of an event")] = None


# Responses


class Status(msgspec.Struct, frozen=True):
    """The state of the service."""

    status: Literal["ok", "ready"]


class ConversationPage(msgspec.Struct, frozen=True):
    """Conversations, the latest first; `next` is the cursor of the next page."""

    conversations: Sequence[Conversation]
    next: str | None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a conversation; `events` is the address of its events."""

    conversation: str
    version: int
    items: int
    state: Literal["running", "waiting", "idle"]
    waiting: Sequence[StoredItem]
    jobs: Sequence[str]
    spending: Spending
    events: str


class ItemPage(msgspec.Struct, frozen=True):
    """Items in the order of recording, of `length` in all; `next` is `after` of the next page."""

    items: Sequence[StoredItem]
    next: int | None
    length: int
    events: str


class Erased(msgspec.Struct, frozen=True):
    """What each erased scope contained."""

    scopes: Sequence[ScopeContents]


class WaitingCalls(msgspec.Struct, frozen=True):
    """The calls that wait for a person, or for the client."""

    calls: Sequence[StoredItem]


class Forked(msgspec.Struct, frozen=True):
    """A fork."""

    conversation: str
    version: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What the model would see: items, sections, and the fate of each candidate."""

    model: str | None
    tokens: int
    available: int
    items: Sequence[StoredItem]
    sections: Sequence[Fields]
    entries: Sequence[Fields]


class RequestPage(msgspec.Struct, frozen=True):
    """Requests that were sent to models, newest first; `next` is the cursor of the next page."""

    receipts: Sequence[RequestRow]
    next: str | None


_CONVERSATIONS = "/agents/{agent}/conversations"
_CONVERSATION = f"{_CONVERSATIONS}/{{conversation}}"


def app(
    node: Node,
    *,
    runner: Runner | None = None,
    keys: Keys | None = None,
    max_jobs: int = 1_000,
    max_body: int = 16 * 2**20,
    read_timeout: float = 60.0,
    grace: float = 30.0,
) -> Starlette:
    """The service of a node, to run with an ASGI server.

    The `runner` does the jobs, by default in this process. Without `keys` only programs on this machine are
    served, and each conversation is a scope of its own. While `max_jobs` jobs wait or run, messages are
    refused with 503. `max_body` is the largest body in bytes, and `read_timeout` the seconds in which it has
    to arrive. When the server stops, running turns have `grace` seconds to end.
    """
    service = Service(node, runner or LocalRunner(node), max_jobs, grace)
    application = Starlette(
        routes=[*routes_of(_Routes(service)), *routes_of(OpenAI(service))],
        exception_handlers={HTTPException: _answer_problem},
        lifespan=lambda _: service.running(),
    )
    application.router.redirect_slashes = False
    application.add_middleware(Boundary, keys, max_body, read_timeout, service.metrics)
    application.state.service = service
    return application


async def _answer_problem(request: Request, fault: Exception) -> Response:
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
            async with asyncio.timeout(_READY_SECONDS):
                await STORE.do(self._service.node.store.version, place_at(conversation="ready"))
        except TimeoutError:
            raise unavailable("the store does not answer") from None
        return Status("ready")

    @operation("GET", "/metrics")
    async def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
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
        """Erase the caller's scope: all data of a user, if each user has a scope."""
        caller = self._service.caller(request)
        if not caller.may_erase:
            raise Problem(403, "only a key with `erases = true` may erase its scope")

        def erase() -> Erased:
            store, contents = self._service.node.store, list[ScopeContents]()
            for agent in caller.agents or self._service.node.agents:
                with suppress(UnknownId):  # the agent has nothing in this scope
                    contents += survey_scopes(store, f"{agent}/{caller.scope}")
            for _ in erase_scopes(store, [erased.scope for erased in contents]):
                pass
            return Erased(contents)

        return await STORE.do(erase)

    # Conversations

    @operation("GET", _CONVERSATIONS, query=PageQuery)
    async def conversations(self, request: Request) -> ConversationPage:
        """The conversations, by last activity."""
        (source, within), query = self._scope(request), query_of(request, PageQuery)
        page = await STORE.do(list_conversations, source, within, after=query.cursor, limit=query.limit)
        return ConversationPage(page.rows, page.next)

    @operation("GET", _CONVERSATION)
    async def head(self, request: Request) -> Head:
        """The state of a conversation."""
        address = self._address(request)
        session = await self._service.session(address)
        calls = await self._waiting_calls(address, session)
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

    @operation("DELETE", _CONVERSATION)
    async def forget(self, request: Request) -> None:
        """Erase the content of a conversation."""
        session = await self._service.session(self._address(request))
        await session.aio.forget()

    @operation("GET", f"{_CONVERSATION}/items", query=ItemQuery)
    async def items(self, request: Request) -> ItemPage:
        """The items, in the order of recording."""
        address = self._address(request)
        query = query_of(request, ItemQuery)
        session = await self._service.session(address)
        events = _events_of(address, session)

        def read() -> ItemPage:
            view = session.view()
            end = min(query.after + query.limit, view.end)
            items = _raw(view.log.items(query.after, end)) if query.after < end else []
            return ItemPage(items, end if end < view.end else None, view.end, events)

        return await STORE.do(read)

    @operation("DELETE", f"{_CONVERSATION}/items/{{item}}")
    async def forget_item(self, request: Request) -> None:
        """Erase the content of an item, and of items that were derived from it."""
        session = await self._service.session(self._address(request))
        await session.aio.forget(_name(request, "item"))

    @operation("GET", f"{_CONVERSATION}/waiting")
    async def waiting(self, request: Request) -> WaitingCalls:
        """The calls that wait for a person, or for the client."""
        address = self._address(request)
        session = await self._service.session(address)
        return WaitingCalls(_raw(await self._waiting_calls(address, session)))

    @operation("POST", f"{_CONVERSATION}/forks", body=NewFork, status=201)
    async def fork(self, request: Request) -> Forked:
        """Fork a conversation."""
        session = await self._service.session(self._address(request))
        body = await self._service.body(request, NewFork)
        fork = await session.aio.fork(body.name, at=body.at)
        return Forked(fork.place.conversation, fork.version)

    # Jobs

    @operation("GET", "/agents/{agent}/jobs", query=JobQuery)
    async def open_jobs(self, request: Request) -> JobPage:
        """The open jobs of all conversations."""
        (source, within), query = self._scope(request), query_of(request, JobQuery)
        return await STORE.do(list_open_jobs, source, within, *astuple(query))

    @operation("GET", f"{_CONVERSATION}/jobs", query=JobQuery)
    async def jobs(self, request: Request) -> JobPage:
        """The jobs of a conversation: first the open ones, then the others, newest first."""
        query = query_of(request, JobQuery)
        return await STORE.do(list_jobs, *self._source(request), *astuple(query))

    @operation("GET", f"{_CONVERSATION}/jobs/{{job}}")
    async def job(self, request: Request) -> JobRow:
        """One job: its state, or how it ended."""
        return await STORE.do(read_job, *self._source(request), _name(request, "job"))

    @operation("POST", f"{_CONVERSATION}/jobs/{{job}}/cancel")
    async def cancel(self, request: Request) -> JobRow:
        """Cancel a job: a waiting one never starts, a running one ends at its next safe point."""
        address = self._address(request)
        session = await self._service.session(address)
        await self._service.runner.cancel(session, *address, _name(request, "job"))
        return await self.job(request)

    @operation("POST", f"{_CONVERSATION}/jobs/{{job}}/retry")
    async def retry(self, request: Request) -> Accepted:
        """Retry a failed job by a new one, if it was the last of its conversation."""
        address = self._address(request)
        session = await self._service.session(address)
        return await self._submit(address, await session.jobs.retry(_name(request, "job")))

    @operation("POST", f"{_CONVERSATION}/messages", body=NewMessage, is_job=True)
    async def message(self, request: Request) -> Answer | Accepted | EventResponse:
        """Send a message."""
        address, body = self._address(request), await self._service.body(request, NewMessage)
        if not body.content:
            raise InvalidValue("the content of a message must not be empty")
        not_before = now() + body.delay if body.delay else 0.0
        fields = {"message": Message("user", body.content), "not_before": not_before}
        fields["steers"] = body.while_busy == "steer"
        return await self._answer(request, address, body, body.while_busy, **fields)

    @operation("POST", f"{_CONVERSATION}/decisions", body=NewDecisions, is_job=True)
    async def decide(self, request: Request) -> Answer | Accepted | EventResponse:
        """Approve or refuse waiting calls."""
        address, body = self._address(request), await self._service.body(request, NewDecisions)
        if not body.decisions:
            raise InvalidValue("decisions must decide at least one call")
        session = await self._service.session(address)
        waiting = await self._waiting_calls(address, session)
        names = {name for call in waiting for name in (call.id, call.call_id)}
        job_id = job_id_of(request, address)
        unknown = next((name for name in body.decisions if name not in names), None)
        is_repeated = job_id and await STORE.do(version_before_job, log_of(session), job_id) is not None
        if unknown is not None and not is_repeated:  # the calls of a repeated request may not wait any more
            raise UnknownId(f"no call {cut(unknown)!r} waits for a decision")
        return await self._answer(request, address, body, "queue", decisions=body.decisions)

    async def _answer(
        self,
        request: Request,
        address: Address,
        body: NewMessage | NewDecisions,
        while_busy: WhileBusy,
        **fields: Any,
    ) -> Answer | Accepted | EventResponse:
        """Submit a job, and respond as the client prefers: with events, with the answer, or at once."""
        fields["is_streamed"] = body.stream or _wants_events(request)
        fields |= {"id": job_id_of(request, address), "digest": await digest_of(request)}
        fields["trace"] = trace_of(request)
        job = Job.of(**fields, parameters=body.parameters)
        accepted = await self._submit(address, job, while_busy)
        reader = self._service.reader(address, Cursor(accepted.version))
        if _wants_events(request):
            return EventResponse(reader.encoded(until=job.id))
        if seconds := _preferred_wait(request):
            try:
                async with asyncio.timeout(seconds):
                    if (answer := await wait_for_answer(reader, job.id)) is not None:
                        return answer
            except TimeoutError:
                pass
        return accepted

    async def _submit(self, address: Address, job: Job, while_busy: WhileBusy = "queue") -> Accepted:
        version = await self._service.submit(address, job, while_busy)
        return Accepted(job=job.id, version=version, events=f"{address.path}/events?after={version}")

    @operation("GET", f"{_CONVERSATION}/events", query=EventQuery)
    async def events(self, request: Request) -> EventResponse:
        """The events of a conversation: from the running turn on, or after an event."""
        address = self._address(request)
        session = await self._service.session(address)
        last = request.headers.get("last-event-id") or query_of(request, EventQuery).after
        after = Cursor(version_before_work(log_of(session))) if last is None else Cursor.read(last)
        return EventResponse(self._service.reader(address, after).encoded())

    # What the model sees

    @operation("GET", f"{_CONVERSATION}/context")
    async def context(self, request: Request) -> Preview:
        """What the model would see now, and why."""
        address = self._address(request)
        await self._service.session(address)
        context = await (await self._agent(address)).preview()
        receipt = context.receipt
        return Preview(
            model=context.model,
            tokens=receipt.tokens,
            available=receipt.available,
            items=_raw(context.items),
            sections=[line._asdict() for line in receipt.lines()],
            entries=[entry._asdict() for entry in receipt.entries],
        )

    @operation("GET", f"{_CONVERSATION}/receipts", query=RequestQuery)
    async def receipts(self, request: Request) -> RequestPage:
        """The requests that were sent to models, newest first."""
        (source, place), query = self._source(request), query_of(request, RequestQuery)

        def read() -> RequestPage:
            newer = sum(version >= query.cursor for version in source.session(place).receipts.versions())
            page = list_requests(source, place, limit=query.limit, skip=newer, brief=True)
            rows = page["rows"][::-1]
            return RequestPage(rows, str(rows[-1].version) if page["has_more"] else None)

        return await STORE.do(read)

    @operation("GET", f"{_CONVERSATION}/receipts/{{receipt}}")
    async def receipt(self, request: Request) -> SentRequest:
        """One request, by its version: its sections, and the fate of each candidate."""
        version = converted(_name(request, "receipt"), Count, "a receipt")
        return await STORE.do(read_request, *self._source(request), version)

    def _address(self, request: Request) -> Address:
        return self._service.address(request, _name(request, "agent"), _name(request, "conversation"))

    def _source(self, request: Request) -> tuple[Source, str]:
        """A source that reads the scope of a conversation, and the conversation's address in it."""
        address = self._address(request)
        return self._service.source(address), str(address.place)

    def _scope(self, request: Request) -> tuple[Source, str]:
        """A source that reads the caller's conversations with an agent, and the prefix of their addresses."""
        # Without keys each conversation has a scope of its own. Their prefix `agent/` is no scope.
        named = self._service.address(request, _name(request, "agent"), "list").place.given_scope
        source = Source(self._service.node.store, scope=None if named.endswith("/") else named)
        return source, f"{quote(named, safe='')}/"

    async def _waiting_calls(self, address: Address, session: Session) -> tuple[Any, ...]:
        """The calls that wait for a person. The agent is opened only if there may be one."""
        if session.jobs.current is not None or not session.calls.list_open():
            return ()
        return await STORE.do((await self._agent(address)).waiting)

    async def _agent(self, address: Address) -> Agent:
        try:
            return await self._service.node.worker(*address).open()
        except StoreError:
            raise
        except Exception as fault:
            raise Problem(500, f"the agent cannot be opened: {type(fault).__name__}") from fault


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
            return min(float(seconds), _MAX_WAIT_SECONDS)
    return 0.0


def _events_of(address: Address, session: Session) -> str:
    """The address of the events from the running turn on, or from now."""
    return f"{address.path}/events?after={version_before_work(log_of(session))}"


def _raw(items: Iterable[Item]) -> list[Raw]:
    return [Raw(JSON.encode_item(item)) for item in items]
