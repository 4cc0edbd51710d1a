"""OpenAI's APIs over the agents of a node: `/v1/models`, `/v1/chat/completions` and `/v1/responses`.

The model of a request is the name of an agent. The service keeps and fits the conversation, so a client sends
only new items; the client runs the tools of its request. A response is a job, and its id is its address.
"""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace
from starlette.requests import Request

from quire.errors import InvalidValue, QuireError, UnknownId, cut
from quire.items import JSON, Item, Message, ToolCall, ToolResult, new_id, now
from quire.service import openai_shapes as shapes
from quire.service.events import KEEP_ALIVE, Cursor, EventResponse
from quire.service.openai_shapes import Body
from quire.service.openai_types import Completion, Json, ServedModel, ServedModels, ServedResponse
from quire.service.openapi import operation
from quire.service.problems import Problem, problem_of, unavailable
from quire.service.service import Address, Service, digest_of, job_id_of, json_response, query_of, trace_of
from quire.session import Job, Session, log_of, said_since, version_before_job
from quire.stores.streams import MAIN
from quire.stores.threads import COMPUTING, STORE

_CONVERSATION = "quire-conversation"
"""The header that names the conversation of a chat completion, percent-encoded."""

_CANCEL_SECONDS = 10.0
"""The time in which a cancelled response may end before it is returned as it is."""

_Encode = Callable[[Json], bytes]
_Shape = Callable[[ServedResponse], Any]


class Ticket(NamedTuple):
    """The address of a response: its agent, conversation and job, the version before, and its time."""

    agent: str
    conversation: str
    job: str
    version: Annotated[int, msgspec.Meta(ge=0)]
    created: int

    @property
    def id(self) -> str:
        """The id of the response."""
        return f"resp_{urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip('=')}"

    @staticmethod
    def read(response_id: str) -> "Ticket":
        """The ticket in the id of a response."""
        text = response_id.removeprefix("resp_")
        try:
            return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Ticket)
        except (ValueError, msgspec.MsgspecError):
            raise UnknownId(f"there is no response {cut(response_id)!r} here") from None


class ResponseQuery(msgspec.Struct, frozen=True):
    """Whether to return the events of a response, and after which one."""

    stream: bool = False
    starting_after: Annotated[int, msgspec.Meta(ge=-1, le=10**15)] = -1


class _Parsed(NamedTuple):
    """A parsed request."""

    body: Body
    key: str | None
    """The id of the job, if the client chose one."""
    digest: str
    trace: str
    ignored: str
    """The names of ignored settings."""
    tools: Sequence[str]
    """The names of the client's tools."""


class OpenAI:
    """The routes of OpenAI's APIs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    # Routes

    @operation("GET", "/v1/models")
    async def models(self, request: Request) -> ServedModels:
        """The agents, as models."""
        caller = self._service.caller(request)
        agents = self._service.node.agents
        names = [name for name in agents if caller.agents is None or name in caller.agents]
        return ServedModels(data=[ServedModel(id=name) for name in names])

    @operation("POST", "/v1/chat/completions", body=Body)
    async def complete(self, request: Request) -> Completion | EventResponse:
        """A chat completion: the client sends its history again with each request."""
        parsed = await self._read(request)
        body, key = parsed.body, parsed.key
        name = unquote(request.headers.get(_CONVERSATION, "")) or key or new_id()
        address, session = await self._open_session(request, parsed, name)
        existing = await _find_job(session, key)
        job = await STORE.do(_continuing_job, session, body, key) if existing is None else existing
        chat = shapes.Chat(has_usage=bool((body.stream_options or {}).get("include_usage")))
        encode = chat.encoded if body.stream else None
        answer: Completion | EventResponse
        answer = await self._answer(address, job, parsed, shapes.completion, encode)
        return answer

    @operation("POST", "/v1/responses", body=Body)
    async def respond(self, request: Request) -> ServedResponse | EventResponse:
        """A response: the client sends only new items."""
        parsed = await self._read(request)
        body, key = parsed.body, parsed.key
        # Invalid items are refused before there is a fork.
        items = await COMPUTING.do(shapes.items_in, body)
        address, session = await self._find_session(request, parsed)
        existing = await _find_job(session, key)
        job = await STORE.do(_new_job, session, items, body, key) if existing is None else existing
        encode = shapes.encoded if body.stream else None
        answer: ServedResponse | EventResponse = await self._answer(address, job, parsed, None, encode)
        return answer

    @operation("GET", "/v1/responses/{response}", query=ResponseQuery)
    async def response(self, request: Request) -> ServedResponse | EventResponse:
        """A response that was accepted before, or its events after one of them."""
        query = query_of(request, ResponseQuery)
        ticket, address, pending = await self._find_response(request)
        if query.stream:
            encode = partial(shapes.encoded, after=query.starting_after)
            return EventResponse(self._stream(ticket, address, encode))
        return await self._wait_for_response(ticket, address) if pending is None else pending

    @operation("POST", "/v1/responses/{response}/cancel")
    async def cancel_response(self, request: Request) -> ServedResponse:
        """Cancel a response; one that reaches no safe point within some seconds is still in progress."""
        ticket, address, pending = await self._find_response(request)
        if pending is not None:
            session = await self._service.session(address)
            with suppress(UnknownId):  # it has ended meanwhile
                await self._service.runner.cancel(session, *address, ticket.job)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                pending = await self._wait_for_response(ticket, address)
        assert pending is not None
        return pending

    async def _find_response(self, request: Request) -> tuple[Ticket, Address, ServedResponse | None]:
        """The address of a response, and the response if it has not ended."""
        ticket = Ticket.read(request.path_params["response"])
        address = self._service.address(request, ticket.agent, ticket.conversation)
        session = await self._service.session(address)
        if ticket.job in {job.id for job in session.jobs.pending()}:
            return ticket, address, _pending(ticket, session)
        outcome = await session.jobs.outcome(ticket.job)
        if outcome is None:
            raise UnknownId("there is no such response here")
        return ticket._replace(version=outcome.since), address, None

    # Requests

    async def _read(self, request: Request) -> _Parsed:
        self._service.check_open()
        body = await self._service.body(request, Body)
        fields = await self._service.body(request, dict[str, msgspec.Raw])
        ignored, tools = await COMPUTING.do(shapes.check_settings, fields, body)
        named = body.previous_response_id or body.conversation or request.headers.get(_CONVERSATION, "")
        address = Address(body.model, self._service.caller(request).scope, str(named))
        key, trace = job_id_of(request, address), trace_of(request)
        return _Parsed(body, key, await digest_of(request), trace, ignored, tools)

    async def _open_session(self, request: Request, parsed: _Parsed, name: str) -> tuple[Address, Session]:
        """Open a conversation; a tool of the request must not have the name of a tool of the agent."""
        address = self._service.address(request, parsed.body.model, name)
        session = await STORE.do(self._service.node.session, *address)
        if parsed.tools:
            own = (await self._service.node.worker(*address).open()).tools
            names = Counter([*(tool.name for tool in own), *parsed.tools])
            if repeated := next((name for name, count in names.items() if count > 1), None):
                raise InvalidValue(f"two tools are called {cut(repeated)!r}")
        return address, session

    async def _find_session(self, request: Request, parsed: _Parsed) -> tuple[Address, Session]:
        """The conversation that a request continues, a new one, or a fork at an earlier response."""
        body, key = parsed.body, parsed.key
        name = body.conversation.get("id") if isinstance(body.conversation, dict) else body.conversation
        if not isinstance(name, str | None):
            raise InvalidValue("conversation: its id must be a text")
        if body.previous_response_id is None:
            return await self._open_session(request, parsed, name or key or new_id())
        if name is not None:
            raise InvalidValue("a request must have a conversation or a previous_response_id, not both")
        previous = Ticket.read(body.previous_response_id)
        if previous.agent != body.model:
            raise InvalidValue("model: the previous response is of another agent")
        address, session = await self._open_session(request, parsed, previous.conversation)
        outcome = await session.jobs.outcome(previous.job)
        if outcome is None:
            raise UnknownId("previous_response_id: there is no such response here, or it has not ended")
        is_last = not session.jobs.pending() and not await STORE.do(
            said_since, log_of(session), outcome.version
        )
        if is_last or await _find_job(session, key) is not None:
            return address, session
        name = key or new_id()
        forked = address._replace(conversation=f"{address.conversation}/{name}")
        if not await STORE.do(self._service.node.store.version, forked.place):
            await session.aio.fork(name, at=outcome.version)
        return forked, await STORE.do(self._service.node.session, *forked)

    # Jobs

    async def _answer(
        self, address: Address, job: Job, parsed: _Parsed, shape: _Shape | None, encode: _Encode | None
    ) -> Any:
        """Submit a job, and return its encoded events, or the response in a shape."""
        if job.id == parsed.key:
            job = job._replace(digest=parsed.digest)
        version = await self._service.submit(address, job._replace(trace=parsed.trace))
        ticket = Ticket(address.agent, address.conversation, job.id, version, int(now()))
        ignored = {"quire-ignored": parsed.ignored} if parsed.ignored else {}
        headers = {_CONVERSATION: quote(address.conversation, safe=""), **ignored}
        if encode is not None:
            return EventResponse(self._stream(ticket, address, encode), headers=headers)
        if parsed.body.background and shape is None:
            session = await self._service.session(address)
            if job.id in {pending.id for pending in session.jobs.pending()}:
                return json_response(_pending(ticket, session), headers=headers)
        try:
            response = await self._wait_for_response(ticket, address)
            return json_response(response if shape is None else shape(response), headers=headers)
        except (QuireError, Problem) as fault:  # a retry of the client would be another job
            problem = problem_of(fault)
            raise Problem(problem.status, problem.detail, {"x-should-retry": "false"}) from fault

    async def _events(self, ticket: Ticket, address: Address) -> AsyncGenerator[Json | None, None]:
        """The events of a response; `None` is a keep-alive."""
        response, is_begun, job = _response(ticket), False, ticket.job
        for begun in response.begin():
            yield begun
        reader = self._service.reader(address, Cursor(ticket.version))
        async with aclosing(reader.events(until=job)) as events:
            async for event in events:
                caused: Sequence[Json | None] = ()
                if event is None:
                    caused = [None]
                elif event.name == "item" and event.data["transcript"] == MAIN:
                    item = JSON.decode_item(bytes(event.data["item"]))
                    caused = response.add_item(item) if is_begun else ()
                elif event.data.get("job") != job:
                    continue
                elif event.name == "begun":
                    caused, is_begun = response.restart(), True
                elif event.name == "words":
                    caused = response.add_words(event.data["text"])
                elif event.name == "ended":
                    caused = response.end(event.data["stop"], event.data["error"], reader.spent.usage)
                for each in caused:
                    yield each

    async def _wait_for_response(self, ticket: Ticket, address: Address) -> ServedResponse:
        """A response, once it has ended."""
        *_, last = [event async for event in self._events(ticket, address) if event is not None]
        response: ServedResponse | None = last.get("response")
        if response is None or response.usage is None:
            raise unavailable("the service is stopping")
        return response

    async def _stream(self, ticket: Ticket, address: Address, encode: _Encode) -> AsyncGenerator[bytes]:
        async with aclosing(self._events(ticket, address)) as events:
            async for event in events:
                yield KEEP_ALIVE if event is None else encode(event)


def _pending(ticket: Ticket, session: Session) -> ServedResponse:
    status = "in_progress" if session.jobs.current == ticket.job else "queued"
    return replace(_response(ticket).body, status=status)


def _response(ticket: Ticket) -> shapes.Response:
    return shapes.Response(ticket.id, ticket.created, ticket.agent, ticket.conversation, ticket.job)


# Jobs of requests


async def _find_job(session: Session, key: str | None) -> Job | None:
    """The job that was accepted under the client's key, if any; one that has ended has only its id."""
    pending = {job.id: job for job in session.jobs.pending()}
    if key is None or key in pending:
        return pending.get(key or "")
    version = await STORE.do(version_before_job, log_of(session), key)
    return None if version is None else Job(key)


def _waiting_calls(session: Session) -> dict[str, ToolCall]:
    return {call.call_id: call for call in session.view().pending()}


def _new_job(session: Session, items: Sequence[Item], body: Body, key: str | None) -> Job:
    """The job of new items. Instructions of a client are recorded only at the beginning of a conversation."""
    is_begun, roles = session.view().revision > 0 or session.jobs.pending(), ("system", "developer")
    new = [item for item in items if not (is_begun and isinstance(item, Message) and item.role in roles)]
    return shapes.job_of(new, _waiting_calls(session), body, key)


def _continuing_job(session: Session, body: Body, key: str | None) -> Job:
    """The job of the new items in a history that a client sends again.

    If no item is new, the client repeats its last request, and the job is the one that was accepted then.
    """
    session.refresh()
    view, items = session.view(), shapes.items_in(body)
    queued = [item for job in session.jobs.pending() for item in (*job.before, job.message)]
    recorded = [*view.log.items(0, view.revision), *queued]
    questions = list({item.id: item for item in recorded if shapes.is_of_user(item)}.values())
    new = shapes.new_items(items, [message.content for message in questions], _waiting_calls(session))
    new_questions = [item for item in new if shapes.is_of_user(item)]
    has_results = any(isinstance(item, ToolResult) for item in new)
    is_repeated = bool(questions) and not new_questions and not has_results
    last_id = [*questions, *new_questions][-1].id if questions or new_questions else ""
    job = shapes.job_of(items, {}, body, key) if is_repeated else _new_job(session, new, body, key)
    if job.results:
        return job._replace(id=key or f"{job.results[-1].call_id} of {last_id}")
    return Job.of(job.message, id=last_id) if is_repeated else job
