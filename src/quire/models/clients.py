"""Clients of models: timeouts, an adapter for each official SDK, and retries.

An SDK is imported when it is first needed, and its own retries are off. The SDKs send through our HTTP
client, which recognizes bodies with a success status that are not answers, and closes the connections of
abandoned streams. A client of the caller is used unchanged.
"""

import asyncio
import json
import logging
import os
import random
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec

from quire.errors import InvalidLimit, MissingExtra, NotAuthorized, QuireError
from quire.items import OptionsMeta
from quire.models.answers import AnswerReader, Delta, Sending
from quire.models.failures import Failure, NoAnswer, failure_from
from quire.tokens import number, whole

_Json = dict[str, Any]
logger = logging.getLogger("quire.models")

_ANSWER_FIELDS = frozenset(("choices", "output", "content", "candidates", "promptFeedback"))
_SSE = re.compile(rb"\s*(:|(data|event|id|retry)\s*:)")


class Timeouts(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """Timeouts in seconds: to `connect`, `idle` between two events of a stream, and `total`.

    `total` is for a whole call, retries included. None is no timeout.
    """

    connect: float | None = 10.0
    idle: float | None = 300.0
    total: float | None = 1200.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is not None and not number(seconds, f"Timeouts.{name}", 0):
                raise InvalidLimit(f"Timeouts.{name} must not be zero")

    @classmethod
    def of(cls, timeout: "float | Timeouts") -> "Timeouts":
        """The timeouts for an argument `timeout`: a number of seconds sets all three."""
        if isinstance(timeout, Timeouts):
            return timeout
        seconds = number(timeout, "timeout", 0)
        return cls(connect=min(seconds, 10.0), idle=seconds, total=seconds)

    def limits(self, *, stream: bool) -> dict[str, float | None]:
        """The timeouts for httpx. An answer in one piece sends nothing until it is complete."""
        read = self.idle if stream else self.total
        return {"connect": self.connect, "read": read, "write": self.idle, "pool": self.total}


class Retries(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """How often a failed request is retried, and after how many seconds.

    The wait starts at `first` and doubles up to `longest`, with random jitter. A wait that the service names
    is used instead; if it is more than `longest`, the error is raised at once.
    """

    times: int = 3
    first: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        whole(self.times, "Retries.times", least=0)
        number(self.first, "Retries.first", 0)
        number(self.longest, "Retries.longest", 0)

    @classmethod
    def of(cls, retries: "int | Retries") -> "Retries":
        """The retries for an argument `retries`, which may be a number."""
        return retries if isinstance(retries, Retries) else cls(times=whole(retries, "retries", least=0))

    def wait(self, try_count: int, after: float | None) -> float | None:
        """Seconds to wait for the next try; None for no retry. `after` is what the service asks to wait."""
        if try_count > self.times or (after is not None and after > self.longest):
            return None
        if after is not None:
            return after
        return min(self.first * 2.0 ** (try_count - 1), self.longest) * random.uniform(0.5, 1.0)


class Endpoint(NamedTuple):
    """The address of a model, its key and its timeouts."""

    model: str
    base_url: str | None
    api_key: str | None
    timeouts: Timeouts
    variable: str | None = None
    """The environment variable of the key, if the SDK does not know it."""
    client: Any = None
    """The caller's own client of the SDK."""


# --- HTTP ------------------------------------------------------------------------------------------------


class _Call:
    """One call of an SDK: its timeouts, and the responses that it opened."""

    def __init__(self, limits: Mapping[str, float | None], *, stream: bool) -> None:
        self.limits = limits
        self.is_stream = stream
        self.responses: list[Any] = []

    async def check(self, response: Any) -> None:
        """Read a response that is not a stream; raise `NoAnswer` if it is not an answer."""
        self.responses.append(response)
        kind = response.headers.get("content-type", "").lower()
        if not response.is_success or not any(word in kind for word in ("json", "html", "text/plain")):
            return
        body = _decoded(await response.aread())
        if not isinstance(body, dict) or _ANSWER_FIELDS.isdisjoint(cast(_Json, body)):
            raise NoAnswer(body, response.request)
        if self.is_stream:
            raise NoAnswer("a stream was asked for, and the answer came in one piece", response.request)


_CALL: ContextVar[_Call | None] = ContextVar("the request that an SDK sends", default=None)


def _http_client(*, for_google: bool = False) -> Any:
    import httpx2

    class Http(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            call = _CALL.get()
            if call is None:
                return await super().send(request, **options)
            request.extensions = {**request.extensions, "timeout": dict(call.limits)}
            response = await super().send(request, **options)
            await call.check(response)
            if not (for_google and call.is_stream and response.is_success):
                return response
            return httpx2.Response(response.status_code, content=_google_lines(response), request=request)

    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
    return Http(follow_redirects=True, limits=limits)


async def _google_lines(response: Any) -> AsyncIterator[bytes]:
    """The lines of a stream, rewritten for Google's SDK.

    The SDK fails on `data:` without a space (googleapis/python-genai#2584), on comments and on other fields,
    and turns an error into an empty chunk.
    """
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data = line[5:].lstrip()
            error = '"error"' in data and _decoded(data.encode())
            if isinstance(error, dict) and "error" in error:
                raise NoAnswer(error, response.request)
            yield f"data: {data}\n".encode()
        elif not _SSE.match(line.encode()):
            yield f"{line}\n".encode()


def _decoded(body: bytes) -> Any:
    """A body as JSON, or as text; empty if it is damaged JSON."""
    try:
        return json.loads(body)
    except ValueError:
        text = body.decode(errors="replace").strip()
        return "" if text[:1] in ("{", "[") else text


# --- clients ---------------------------------------------------------------------------------------------


class Client(ABC):
    """Sends requests of one wire through an SDK, in the event loop in which it was made."""

    module: str
    variable: str
    """The environment variable in which the SDK looks for a key."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        extra = self.module.partition(".")[0]
        try:
            self.sdk: Any = import_module(self.module)
        except ModuleNotFoundError as fault:
            raise MissingExtra(f"the client {extra!r}", extra) from fault
        self.http: Any = None
        client: Any = self._connected() if endpoint.client is None else endpoint.client
        has_options = hasattr(client, "with_options")
        self.client: Any = client.with_options(max_retries=0) if has_options else client

    def key(self) -> str | None:
        """The key to send; None leaves it to the SDK, which knows the variables of its own service.

        A key for the provider is never sent to another address.
        """
        api_key, variable = self.endpoint.api_key, self.endpoint.variable
        if api_key is None and variable is not None and not (api_key := os.environ.get(variable)):
            raise self.no_key()
        return api_key or ("none" if self.endpoint.base_url else None)

    def no_key(self) -> NotAuthorized:
        variable = self.endpoint.variable or self.variable
        return NotAuthorized(f"there is no key for {self.endpoint.model}: set {variable}, or give api_key")

    @abstractmethod
    def _connected(self) -> Any:
        """Make `http` and a client of the SDK."""

    @abstractmethod
    def arguments(self, request: _Json, *, stream: bool) -> _Json:
        """The arguments of the SDK's method, without a timeout."""

    @abstractmethod
    async def _sent(self, arguments: _Json, *, stream: bool) -> Any:
        """Send a request; returns the SDK's response, or its stream of events."""

    async def events(self, arguments: _Json, *, stream: bool) -> AsyncGenerator[Any, None]:
        """The events of a stream, or the whole response as the only one."""
        call = _Call(self.endpoint.timeouts.limits(stream=stream), stream=stream)
        _CALL.set(call)
        response: Any = None
        try:
            response = await self._sent(arguments, stream=stream)
            if not stream:
                yield response
            else:
                async for event in response:
                    yield event
        finally:
            # Google's SDK nests generators, and the outer one does not close the inner ones.
            for inner_response in call.responses:
                await inner_response.aclose()
            close = getattr(response, "aclose", None) or getattr(response, "close", None)
            if stream and close is not None:
                await close()

    def explain(self, fault: Exception) -> Failure:
        """The failure for an exception of the SDK; Anthropic's SDK raises a TypeError if it finds no key."""
        if isinstance(fault, TypeError) and "authentication" in str(fault):
            return Failure(self.no_key())
        return failure_from(self.endpoint.model, fault, (self.endpoint.api_key,))

    async def close(self) -> None:
        """Close the connections, unless the caller made them."""
        if self.http is not None:
            await self.http.aclose()


class _StainlessClient(Client):
    """An SDK that Stainless generated: OpenAI's and Anthropic's have the same structure."""

    kind: str  # the class of its client
    method: str  # the path of the method that sends a request
    streaming: ClassVar[_Json] = {"stream": True}

    def _connected(self) -> Any:
        self.http, endpoint = _http_client(), self.endpoint
        address: _Json = {"base_url": endpoint.base_url} if endpoint.base_url else {}
        error: type[Exception] = getattr(self.sdk, f"{self.kind.removeprefix('Async')}Error")
        try:
            return getattr(self.sdk, self.kind)(api_key=self.key(), http_client=self.http, **address)
        except error as fault:
            raise self.no_key() from fault

    def arguments(self, request: _Json, *, stream: bool) -> _Json:
        return {"model": self.endpoint.model, **(self.streaming if stream else {}), **request}

    async def _sent(self, arguments: _Json, *, stream: bool) -> Any:
        call, fields = attrgetter(self.method)(self.client), dict(arguments)
        extra = {name: fields.pop(name) for name in fields.keys() - signature(call).parameters.keys()}
        if extra:  # fields that the method lacks
            fields["extra_body"] = {**extra, **(fields.get("extra_body") or {})}
        # Anthropic's SDK refuses a long answer in one piece unless a limit is given.
        return await call(**{"timeout": self.endpoint.timeouts.total, **fields})


class _ChatClient(_StainlessClient):
    module, kind, method = "openai", "AsyncOpenAI", "chat.completions.create"
    variable = "OPENAI_API_KEY"
    streaming: ClassVar[_Json] = {"stream": True, "stream_options": {"include_usage": True}}


class _ResponsesClient(_StainlessClient):
    module, kind, method = "openai", "AsyncOpenAI", "responses.create"
    variable = "OPENAI_API_KEY"


class _AnthropicClient(_StainlessClient):
    module, kind, method = "anthropic", "AsyncAnthropic", "messages.create"
    variable = "ANTHROPIC_API_KEY"


class _GoogleClient(Client):
    module = "google.genai"
    variable = "GEMINI_API_KEY"

    def _connected(self) -> Any:
        self.http, key = _http_client(for_google=True), self.key()
        options: _Json = {"retry_options": {"attempts": 1}, "httpx_async_client": self.http}
        if self.endpoint.base_url:
            options["base_url"] = self.endpoint.base_url
        try:
            return self.sdk.Client(http_options=options, **({"api_key": key} if key else {}))
        except ValueError as fault:
            raise self.no_key() from fault

    def arguments(self, request: _Json, *, stream: bool) -> _Json:
        # Tools are run by the caller, never by the SDK.
        config: _Json = {"automatic_function_calling": {"disable": True}, **request.get("config", {})}
        return {"model": self.endpoint.model, **request, "config": config}

    async def _sent(self, arguments: _Json, *, stream: bool) -> Any:
        models = self.client.aio.models
        call = models.generate_content_stream if stream else models.generate_content
        return await call(**arguments)

    async def close(self) -> None:
        await super().close()
        if self.endpoint.client is None:
            self.client.close()


CLIENTS: dict[str, Callable[[Endpoint], Client]] = {
    "openai": _ChatClient,
    "openai-responses": _ResponsesClient,
    "anthropic": _AnthropicClient,
    "gemini": _GoogleClient,
}
"""The clients by wire. Making one imports its SDK."""


# --- retries: only before the first delta of an answer ----------------------------------------------------


async def answer_deltas(
    connect: Callable[[], Awaitable[Client]],
    request: _Json,
    without_schema: Callable[[], _Json | None],
    reader: AnswerReader,
    retries: Retries,
    total: float | None,
    sending: Sending,
) -> AsyncGenerator[Delta, None]:
    """Send a request and read its answer; retry if it fails before the first delta.

    If the service refuses the schema of the answer, the request that `without_schema` returns is sent, unless
    it is None. `total` is the timeout in seconds. A request is announced once, even if it is retried.
    """
    client = await connect()
    deadline = None if total is None else asyncio.get_running_loop().time() + total
    try_count, announced = 1, None
    while True:
        arguments = client.arguments(request, stream=reader.is_stream)
        if request is not announced:
            await sending.announce(arguments)
            announced = request
        fault: Exception | None = None
        try:
            async with aclosing(client.events(arguments, stream=reader.is_stream)) as events:
                while (event := await _next(events, deadline)) is not None:
                    for delta in reader.feed(event):
                        yield delta
            failure = reader.failure()
        except QuireError:
            raise  # a mistake of the caller, or a missing extra
        except Exception as raised:
            fault, failure = raised, client.explain(raised)
        if failure is None:
            return
        can_repeat = not reader.has_begun()
        plain_request = without_schema() if failure.is_of_schema and can_repeat else None
        if plain_request is not None:
            _note_retry(failure)
            request = plain_request
            reader.start_again()
            continue
        wait = retries.wait(try_count, failure.after) if failure.can_retry and can_repeat else None
        if wait is None or (deadline is not None and asyncio.get_running_loop().time() + wait >= deadline):
            raise failure.error from fault
        logger.info("%s: %s, retry in %.1f s", reader.model, type(failure.error).__name__, wait)
        _note_retry(failure)
        try_count += 1
        reader.start_again()
        await asyncio.sleep(wait)


_RETRIED: ContextVar[list[str]] = ContextVar("the errors after which requests were sent again")


@contextmanager
def noting_retries() -> Generator[list[str], None, None]:
    """Collect the names of the errors after which requests of the block are retried."""
    errors: list[str] = []
    token = _RETRIED.set(errors)
    try:
        yield errors
    finally:
        _RETRIED.reset(token)


def _note_retry(failure: Failure) -> None:
    errors = _RETRIED.get(None)
    if errors is not None:
        errors.append(type(failure.error).__name__)


async def _next(events: AsyncGenerator[Any, None], deadline: float | None) -> Any:
    await asyncio.sleep(0)  # many events may be ready at once, and other tasks need to run
    # A timeout around each step, because the reader may be another task each time.
    async with asyncio.timeout_at(deadline):
        return await anext(events, None)


# --- one client for each event loop ----------------------------------------------------------------------


class _Closes(Protocol):
    def close(self) -> Awaitable[None]: ...


_Resource = TypeVar("_Resource", bound=_Closes)
_Loop = asyncio.AbstractEventLoop


class PerLoop(Generic[_Resource]):
    """One object for each event loop, closed at the latest when the loop ends."""

    def __init__(self, make: Callable[[], _Resource]) -> None:
        self._make = make
        self._open = WeakKeyDictionary[_Loop, tuple[_Resource, AsyncGenerator[None, None]]]()

    async def get(self) -> _Resource:
        """The object of the running loop."""
        loop = asyncio.get_running_loop()
        if loop in self._open:
            return self._open[loop][0]
        opened = self._make()
        self._open[loop] = opened, _close_with_loop(opened)
        await anext(self._open[loop][1])  # runs to its `yield`
        return opened

    async def close(self) -> None:
        """Close the object of the running loop; others are closed when their loops end."""
        open_item = self._open.pop(asyncio.get_running_loop(), None)
        if open_item is not None:
            await open_item[1].aclose()


async def _close_with_loop(open_item: _Closes) -> AsyncGenerator[None, None]:
    # When a loop ends it closes its open generators; nothing else announces the end.
    try:
        yield
    finally:
        await open_item.close()
