"""OpenAI's APIs over the agents of a node: `/v1/models`, `/v1/chat/completions` and `/v1/responses`.

The model of a request is the name of an agent. The conversation is kept and fitted here, so a client sends
what is new; the tools of a request are run by the client. A response is a job, and its id says where it is.
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
from quire.service.events import ALIVE_SIGN, Cursor, EventResponse
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

_CANCELLING = 10.0
"""Seconds in which a response that was cancelled may end before it is answered as it is."""

_Encode = Callable[[Json], bytes]
_Shape = Callable[[ServedResponse], Any]


class Ticket(NamedTuple):
    """Where a response is: the agent, the conversation, the job, the version before it, and its time."""

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
        """The ticket that the id of a response holds."""
        text = response_id.removeprefix("resp_")
        try:
            return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Ticket)
        except (ValueError, msgspec.MsgspecError):
            raise UnknownId(f"there is no response {cut(response_id)!r} here") from None


class ResponseQuery(msgspec.Struct, frozen=True):
    """Whether the events of a response are asked for, and behind which."""

    stream: bool = False
    starting_after: Annotated[int, msgspec.Meta(ge=-1, le=10**15)] = -1


class _Asked(NamedTuple):
    """What a client asks."""

    body: Body
    key: str | None
    """The id of a job that the client chose."""
    digest: str
    trace: str
    ignored: str
    """The names of settings that are not used."""
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
        names = [one for one in self._service.node.agents if caller.agents is None or one in caller.agents]
        return ServedModels(data=[ServedModel(id=name) for name in names])

    @operation("POST", "/v1/chat/completions", body=Body)
    async def complete(self, request: Request) -> Completion | EventResponse:
        """A chat completion: the client sends its history again with each request."""
        asked = await self._read(request)
        body, key = asked.body, asked.key
        name = unquote(request.headers.get(_CONVERSATION, "")) or key or new_id()
        address, session = await self._opened(request, asked, name)
        known = await _accepted(session, key)
        job = await STORE.do(_continued, session, body, key) if known is None else known
        chat = shapes.Chat(has_usage=bool((body.stream_options or {}).get("include_usage")))
        encode = chat.encoded if body.stream else None
        made: Completion | EventResponse = await self._answer(address, job, asked, shapes.completion, encode)
        return made

    @operation("POST", "/v1/responses", body=Body)
    async def respond(self, request: Request) -> ServedResponse | EventResponse:
        """A response: the client sends what is new."""
        asked = await self._read(request)
        body, key = asked.body, asked.key
        # What cannot be read is refused before there is a fork.
        items = await COMPUTING.do(shapes.items_in, body)
        address, session = await self._found(request, asked)
        known = await _accepted(session, key)
        job = await STORE.do(_given, session, items, body, key) if known is None else known
        encode = shapes.encoded if body.stream else None
        made: ServedResponse | EventResponse = await self._answer(address, job, asked, None, encode)
        return made

    @operation("GET", "/v1/responses/{response}", query=ResponseQuery)
    async def response(self, request: Request) -> ServedResponse | EventResponse:
        """A response that was accepted before, or its events behind one of them."""
        asked = query_of(request, ResponseQuery)
        ticket, address, pending = await self._known(request)
        if asked.stream:
            encode = partial(shapes.encoded, after=asked.starting_after)
            return EventResponse(self._sent(ticket, address, encode))
        return await self._ended(ticket, address) if pending is None else pending

    @operation("POST", "/v1/responses/{response}/cancel")
    async def cancel_response(self, request: Request) -> ServedResponse:
        """Cancel a response; one that is not at a safe point within some seconds is still in progress."""
        ticket, address, pending = await self._known(request)
        if pending is not None:
            session = await self._service.session(address)
            with suppress(UnknownId):  # it has ended meanwhile
                await self._service.runner.cancel(session, *address, ticket.job)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCELLING):
                pending = await self._ended(ticket, address)
        assert pending is not None
        return pending

    async def _known(self, request: Request) -> tuple[Ticket, Address, ServedResponse | None]:
        """Where a response is, and what it is if it has not ended."""
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

    async def _read(self, request: Request) -> _Asked:
        self._service.check_open()
        body = await self._service.body(request, Body)
        fields = await self._service.body(request, dict[str, msgspec.Raw])
        ignored, tools = await COMPUTING.do(shapes.check_settings, fields, body)
        asked = body.previous_response_id or body.conversation or request.headers.get(_CONVERSATION, "")
        address = Address(body.model, self._service.caller(request).scope, str(asked))
        key, trace = job_id_of(request, address), trace_of(request)
        return _Asked(body, key, await digest_of(request), trace, ignored, tools)

    async def _opened(self, request: Request, asked: _Asked, name: str) -> tuple[Address, Session]:
        """A conversation whose agent can take the tools of a request besides its own."""
        address = self._service.address(request, asked.body.model, name)
        session = await STORE.do(self._service.node.session, *address)
        if asked.tools:
            own = (await self._service.node.worker(*address).open()).tools
            names = Counter([*(tool.name for tool in own), *asked.tools])
            if twice := next((name for name, count in names.items() if count > 1), None):
                raise InvalidValue(f"two tools are called {cut(twice)!r}")
        return address, session

    async def _found(self, request: Request, asked: _Asked) -> tuple[Address, Session]:
        """The conversation that a request continues, or a new one; of an earlier response it is a fork."""
        body, key = asked.body, asked.key
        given = body.conversation.get("id") if isinstance(body.conversation, dict) else body.conversation
        if not isinstance(given, str | None):
            raise InvalidValue("conversation: its id is a text")
        if body.previous_response_id is None:
            return await self._opened(request, asked, given or key or new_id())
        if given is not None:
            raise InvalidValue("a request has a conversation or a previous_response_id, and not both")
        before = Ticket.read(body.previous_response_id)
        if before.agent != body.model:
            raise InvalidValue("model: the previous response is of another agent")
        address, session = await self._opened(request, asked, before.conversation)
        outcome = await session.jobs.outcome(before.job)
        if outcome is None:
            raise UnknownId("previous_response_id: there is no such response here, or it has not ended")
        is_last = not session.jobs.pending() and not await STORE.do(
            said_since, log_of(session), outcome.version
        )
        if is_last or await _accepted(session, key) is not None:
            return address, session
        name = key or new_id()
        forked = address._replace(conversation=f"{address.conversation}/{name}")
        if not await STORE.do(self._service.node.store.version, forked.place):
            await session.aio.fork(name, at=outcome.version)
        return forked, await STORE.do(self._service.node.session, *forked)

    # Jobs

    async def _answer(
        self, address: Address, job: Job, asked: _Asked, shape: _Shape | None, encode: _Encode | None
    ) -> Any:
        """Submit a job, and answer with its events as they come, or with the response, in a shape."""
        if job.id == asked.key:
            job = job._replace(digest=asked.digest)
        version = await self._service.submit(address, job._replace(trace=asked.trace))
        ticket = Ticket(address.agent, address.conversation, job.id, version, int(now()))
        told = {"quire-ignored": asked.ignored} if asked.ignored else {}
        headers = {_CONVERSATION: quote(address.conversation, safe=""), **told}
        if encode is not None:
            return EventResponse(self._sent(ticket, address, encode), headers=headers)
        if asked.body.background and shape is None:
            session = await self._service.session(address)
            if job.id in {one.id for one in session.jobs.pending()}:
                return json_response(_pending(ticket, session), headers=headers)
        try:
            response = await self._ended(ticket, address)
            return json_response(response if shape is None else shape(response), headers=headers)
        except (QuireError, Problem) as fault:  # if the client sent it again, it would be another job
            problem = problem_of(fault)
            raise Problem(problem.status, problem.detail, {"x-should-retry": "false"}) from fault

    async def _events(self, ticket: Ticket, address: Address) -> AsyncGenerator[Json | None, None]:
        """The events of a response; `None` is a sign of life."""
        made, is_begun, job = _response(ticket), False, ticket.job
        for first in made.begin():
            yield first
        reader = self._service.reader(address, Cursor(ticket.version))
        async with aclosing(reader.events(until=job)) as events:
            async for event in events:
                told: Sequence[Json | None] = ()
                if event is None:
                    told = [None]
                elif event.name == "item" and event.data["transcript"] == MAIN:
                    told = made.take(JSON.decode_item(bytes(event.data["item"]))) if is_begun else ()
                elif event.data.get("job") != job:
                    continue
                elif event.name == "begun":
                    told, is_begun = made.restart(), True
                elif event.name == "words":
                    told = made.speak(event.data["text"])
                elif event.name == "ended":
                    told = made.end(event.data["stop"], event.data["error"], reader.spent.usage)
                for one in told:
                    yield one

    async def _ended(self, ticket: Ticket, address: Address) -> ServedResponse:
        """A response, once it has ended."""
        *_, last = [event async for event in self._events(ticket, address) if event is not None]
        response: ServedResponse | None = last.get("response")
        if response is None or response.usage is None:
            raise unavailable("the service is stopping")
        return response

    async def _sent(self, ticket: Ticket, address: Address, encode: _Encode) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._events(ticket, address)) as events:
            async for event in events:
                yield ALIVE_SIGN if event is None else encode(event)


def _pending(ticket: Ticket, session: Session) -> ServedResponse:
    status = "in_progress" if session.jobs.current == ticket.job else "queued"
    return replace(_response(ticket).body, status=status)


def _response(ticket: Ticket) -> shapes.Response:
    return shapes.Response(ticket.id, ticket.created, ticket.agent, ticket.conversation, ticket.job)


# What is on record


async def _accepted(session: Session, key: str | None) -> Job | None:
    """The job that was accepted under a key of the client; of one that has ended, the id is all there is."""
    pending = {job.id: job for job in session.jobs.pending()}
    if key is None or key in pending:
        return pending.get(key or "")
    version = await STORE.do(version_before_job, log_of(session), key)
    return None if version is None else Job(key)


def _waiting(session: Session) -> dict[str, ToolCall]:
    return {call.call_id: call for call in session.view().pending()}


def _given(session: Session, items: Sequence[Item], body: Body, key: str | None) -> Job:
    """What a request brings to a conversation; instructions of a client are recorded at its beginning."""
    is_begun, told = session.view().revision > 0 or session.jobs.pending(), ("system", "developer")
    new = [item for item in items if not (is_begun and isinstance(item, Message) and item.role in told)]
    return shapes.job_of(new, _waiting(session), body, key)


def _continued(session: Session, body: Body, key: str | None) -> Job:
    """What is new in a history that a client sends again.

    If nothing is new, it is the request that was sent last, and the job is the one that was accepted then.
    """
    session.refresh()
    view, items = session.view(), shapes.items_in(body)
    brought = [item for job in session.jobs.pending() for item in (*job.before, job.message)]
    said = {one.id: one for one in (*view.log.items(0, view.revision), *brought) if shapes.is_users(one)}
    new = shapes.new_items(items, [message.content for message in said.values()], _waiting(session))
    is_known = bool(said) and not any(isinstance(item, ToolResult) or shapes.is_users(item) for item in new)
    last = next((item.id for item in reversed([*said.values(), *new]) if shapes.is_users(item)), "")
    job = shapes.job_of(items, {}, body, key) if is_known else _given(session, new, body, key)
    if job.results:
        return job._replace(id=key or f"{job.results[-1].call_id} of {last}")
    return Job.of(job.message, id=last) if is_known else job
