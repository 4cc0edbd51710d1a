"""What all routes share: who asks, for which conversation, and how a job is accepted and followed."""

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

_MOST_VALUES = 20_000
"""JSON values in a body: each takes some microseconds on its way, wherever it stands."""


class Service:
    """The agents of a node over HTTP."""

    def __init__(self, node: Node, runner: Runner, most: int, grace: float) -> None:
        self.node, self.runner, self.readers, self.metrics = node, runner, Readers(), Metrics()
        self._most, self._grace, self.is_stopping = most, grace, False
        node.add_hooks(self.metrics.hooks())
        self.metrics.gauge("quire_streams", "Streams that are open.", lambda: len(self.readers))
        self.metrics.gauge("quire_jobs", "Jobs that wait or run, known to this process.", runner.load)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Do jobs for as long as the block runs."""
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
        """Who asks."""
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
        if is_reserved(name) or name in (".", ".."):  # clients take dots out of paths
            raise InvalidValue("the name of this conversation is reserved")
        return address

    def source(self, address: Address) -> Source:
        """Reads the conversation, and nothing outside of its scope."""
        return Source(self.node.store, scope=address.place.scope)

    async def session(self, address: Address) -> Session:
        """A conversation that exists, with all that others wrote; `UnknownId` if it does not."""

        def opened() -> Session:
            self.source(address).place(address.place)
            return self.node.session(*address)

        return await STORE.do(opened)

    async def submit(self, address: Address, job: Job, while_busy: WhileBusy = "queue") -> int:
        """Accept a job, and return the version before it; 503 while there is too much to do.

        A job that was accepted before under its id has the same digest, or it is another request: 422.
        """
        self.check_open()
        running = await self._running(address, job, while_busy)
        version, session = await self.runner.submit(*address, job)
        if job.digest and await digest_of_job(log_of(session), job.id) not in (None, job.digest):
            raise Problem(422, "this Idempotency-Key was used for another body")
        if running is not None:
            with suppress(UnknownId):  # it has ended meanwhile
                await self.runner.cancel(session, *address, running)
        return version

    async def _running(self, address: Address, job: Job, while_busy: WhileBusy) -> str | None:
        """The job that a new one interrupts, if it does; `TurnBusy` if it is refused."""
        if while_busy not in ("interrupt", "refuse"):
            return None
        session = await STORE.do(self.node.session, *address)
        await session.aio.refresh()
        if await STORE.do(version_before_job, log_of(session), job.id) is not None:
            return None
        if while_busy == "refuse" and any(one.not_before <= now() for one in session.jobs.pending()):
            raise TurnBusy("the conversation answers another message")
        return session.jobs.current

    def check_open(self) -> None:
        """503 while no job is accepted."""
        if self.is_stopping:
            raise unavailable("the service is stopping")
        if self.runner.load() >= self._most:
            raise unavailable("too many messages wait to be answered")

    def reader(self, address: Address, after: Cursor) -> Reader:
        """Reads the events of a conversation."""
        return Reader(self.readers, self.runner, self.node.store, address, after)

    async def body(self, request: Request, kind: type[B]) -> B:
        """The JSON body of a request."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "the body is JSON: its content-type is application/json")
        data = await request.body()
        if _has_too_many_values(data):
            raise Problem(422, f"a body has at most {_MOST_VALUES:,} JSON values")
        with _worded("the body"):
            return msgspec.json.decode(data, type=kind)


def query_of(request: Request, kind: type[B]) -> B:
    """The parameters of a request."""
    found: B = converted(dict(request.query_params), kind, "the query")
    return found


def converted(text: Any, kind: Any, what: str) -> Any:
    """A text of a path or of parameters as a type."""
    with _worded(what):
        return msgspec.convert(text, kind, strict=False)


@contextmanager
def _worded(what: str) -> Generator[None]:
    """Errors of what a client sent, without its content."""
    try:
        yield
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        text, place = without_content(fault)
        told = "nested too deep" if isinstance(fault, RecursionError) else text
        raise InvalidValue(f"{what}{place}: {told}") from None


def job_id_of(request: Request, address: Address) -> str | None:
    """The id of a job that the client chose, so that it can ask twice and be answered once.

    A fork has the jobs of its past; the same key is another job there.
    """
    given = request.headers.get("idempotency-key")
    if given is None:
        return None
    if not (0 < len(given) <= 100 and given.isascii() and given.isprintable()):
        raise InvalidValue("Idempotency-Key has 1 to 100 printable ASCII characters")
    return f"key_{sha256(msgspec.json.encode([*address, given])).hexdigest()[:32]}"


def trace_of(request: Request) -> str:
    """The `traceparent` of a request, if it is one."""
    given = request.headers.get("traceparent", "")
    return given if _TRACE.fullmatch(given) else ""


async def digest_of(request: Request) -> str:
    """What tells the body of a request with an `Idempotency-Key` from others; empty without such a key."""
    key = request.headers.get("idempotency-key")
    return "" if key is None else sha256(key.encode() + b"\0" + await request.body()).hexdigest()


def _has_too_many_values(text: bytes) -> bool:
    """Whether a JSON text has more values than are read, found without reading them."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * _MOST_VALUES:  # a value has at most a key and a text, of two quotes each
        return True
    outside = b"".join(plain.split(b'"')[::2])  # every second piece stands between two strings
    return sum(map(outside.count, (b",", b"{", b"["))) > _MOST_VALUES


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as the JSON of an answer."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")
