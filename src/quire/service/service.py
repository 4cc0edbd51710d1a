"""Shared by all routes: the caller, the conversation, and how a job is accepted and its events are read."""

import re
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from quire.agent.turn import WhileBusy
from quire.errors import InvalidValue, TooLarge, TurnBusy, UnknownId, UnknownKey, cut
from quire.items import now, without_content
from quire.memory import is_reserved
from quire.node import Node
from quire.reading import Source
from quire.service.boundary import CALLER
from quire.service.events import Cursor, Reader, Readers
from quire.service.keys import Caller
from quire.service.metrics import Metrics
from quire.service.problems import Problem, unavailable
from quire.service.runner import Address as Address, Runner
from quire.session import Job, Session, digest_of_job, log_of, version_before_job
from quire.stores.threads import STORE

B = TypeVar("B")

_TRACE = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

_MAX_VALUES = 20_000
"""The most JSON values of a body: each takes some microseconds, however small it is."""


class Service:
    """The agents of a node over HTTP."""

    def __init__(self, node: Node, runner: Runner, max_jobs: int, grace: float) -> None:
        self.node, self.runner, self.readers, self.metrics = node, runner, Readers(), Metrics()
        self._max_jobs, self._grace, self.is_stopping = max_jobs, grace, False
        node.add_hooks(self.metrics.hooks())
        self.metrics.gauge("quire_streams", "Open streams.", lambda: len(self.readers))
        self.metrics.gauge("quire_jobs", "Open jobs that this process knows of.", runner.load)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start the runner, and stop the service at the end of the block."""
        await self.runner.start()
        try:
            yield
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Refuse messages, let running turns end within the grace, then end all streams."""
        if not self.is_stopping:
            self.is_stopping = True
            await self.runner.stop(self._grace)
            self.readers.close()

    def caller(self, request: Request) -> Caller:
        """The sender of a request."""
        caller: Caller = request.scope[CALLER]
        return caller

    def address(self, request: Request, agent: str, conversation: str) -> Address:
        """The conversation of an agent in the scope of the caller; `UnknownKey` if there is no such agent."""
        caller = self.caller(request)
        is_allowed = caller.agents is None or agent in caller.agents
        if agent not in self.node.agents or not is_allowed:
            raise UnknownKey(f"there is no agent {cut(agent)!r} here")
        address = Address(agent, caller.scope, conversation)
        try:
            name = address.place.conversation
        except TooLarge as fault:
            raise InvalidValue(str(fault)) from None
        if is_reserved(name) or name in (".", ".."):  # clients remove dots from paths
            raise InvalidValue("the name of this conversation is reserved")
        return address

    def source(self, address: Address) -> Source:
        """A source that reads only the scope of the conversation."""
        return Source(self.node.store, scope=address.place.scope)

    async def session(self, address: Address) -> Session:
        """The session of a conversation, caught up; `UnknownId` if the conversation does not exist."""

        def open_session() -> Session:
            self.source(address).place(address.place)
            return self.node.session(*address)

        return await STORE.do(open_session)

    async def submit(self, address: Address, job: Job, while_busy: WhileBusy = "queue") -> int:
        """Accept a job, and return the version before it; 503 if the service is overloaded.

        422 if a job with another digest was accepted under this id.
        """
        self.check_open()
        interrupted = await self._job_to_interrupt(address, job, while_busy)
        version, session = await self.runner.submit(*address, job)
        if job.digest and await digest_of_job(log_of(session), job.id) not in (None, job.digest):
            raise Problem(422, "this Idempotency-Key was used for another body")
        if interrupted is not None:
            with suppress(UnknownId):  # the interrupted job has ended meanwhile
                await self.runner.cancel(session, *address, interrupted)
        return version

    async def _job_to_interrupt(self, address: Address, job: Job, while_busy: WhileBusy) -> str | None:
        """The running job that a new one interrupts, if any; `TurnBusy` if the new one is refused."""
        if while_busy not in ("interrupt", "refuse"):
            return None
        session = await STORE.do(self.node.session, *address)
        await session.aio.refresh()
        if await STORE.do(version_before_job, log_of(session), job.id) is not None:
            return None  # the job was accepted before: the client repeats its request
        if while_busy == "refuse" and any(other.not_before <= now() for other in session.jobs.pending()):
            raise TurnBusy("the conversation is busy with another message")
        return session.jobs.current

    def check_open(self) -> None:
        """Raise 503 if the service is stopping or overloaded."""
        if self.is_stopping:
            raise unavailable("the service is stopping")
        if self.runner.load() >= self._max_jobs:
            raise unavailable("too many jobs are open")

    def reader(self, address: Address, after: Cursor) -> Reader:
        """A reader of the events of a conversation."""
        return Reader(self.readers, self.runner, self.node.store, address, after)

    async def body(self, request: Request, kind: type[B]) -> B:
        """The JSON body of a request."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "the body must be JSON: its content-type must be application/json")
        data = await request.body()
        if _has_too_many_values(data):
            raise Problem(422, f"a body must have at most {_MAX_VALUES:,} JSON values")
        with _refusing("the body"):
            return msgspec.json.decode(data, type=kind)


def query_of(request: Request, kind: type[B]) -> B:
    """The parameters of a request."""
    query: B = converted(dict(request.query_params), kind, "the query")
    return query


def converted(value: Any, kind: Any, label: str) -> Any:
    """Convert a text of the path, or the query, to a type; an error calls it by the label."""
    with _refusing(label):
        return msgspec.convert(value, kind, strict=False)


@contextmanager
def _refusing(label: str) -> Generator[None]:
    """Raise decoding errors of the block as `InvalidValue`, without content."""
    try:
        yield
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        text, place = without_content(fault)
        reason = "nested too deep" if isinstance(fault, RecursionError) else text
        raise InvalidValue(f"{label}{place}: {reason}") from None


def job_id_of(request: Request, address: Address) -> str | None:
    """The id of a job by the `Idempotency-Key` of the client, if it sent one.

    It depends on the conversation: a fork has the jobs of its parent, and there the key means another job.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not (0 < len(key) <= 100 and key.isascii() and key.isprintable()):
        raise InvalidValue("Idempotency-Key must have 1 to 100 printable ASCII characters")
    return f"key_{sha256(msgspec.json.encode([*address, key])).hexdigest()[:32]}"


def trace_of(request: Request) -> str:
    """The `traceparent` of a request, if it is valid."""
    trace = request.headers.get("traceparent", "")
    return trace if _TRACE.fullmatch(trace) else ""


async def digest_of(request: Request) -> str:
    """The digest of the body of a request with an `Idempotency-Key`; empty without one."""
    key = request.headers.get("idempotency-key")
    return "" if key is None else sha256(key.encode() + b"\0" + await request.body()).hexdigest()


def _has_too_many_values(text: bytes) -> bool:
    """Whether a JSON text has too many values, checked without parsing it."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * _MAX_VALUES:  # a value has at most a key and a text, of two quotes each
        return True
    outside = b"".join(plain.split(b'"')[::2])  # every second piece is not within a string
    return sum(map(outside.count, (b",", b"{", b"["))) > _MAX_VALUES


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")
