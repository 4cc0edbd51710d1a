"""Google's Gemini over the official SDK."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from quire.models.clients.bodies import without_keys, words_in
from quire.models.clients.client import (
    Json,
    NoResponse,
    Place,
    is_named,
    key_for,
    no_key,
    object_in,
    plain,
    sdk,
    seconds_for,
)
from quire.models.clients.unstreamed import body_of, response_in
from quire.models.failing import (
    Failure,
    Told,
    codes_in,
    connection_lost,
    failure_of,
    no_answer,
    seconds_until,
    timed_out,
)

_LATE = ("TimeoutException", "TimeoutError", "ServerTimeoutError")
_LOST = ("TransportError", "OSError", "ClientConnectionError", "ClientPayloadError")
_DAMAGED = ("JSONDecodeError", "UnicodeDecodeError", "DecodingError")
_RESPONSES: ContextVar[list[Any]] = ContextVar("the responses of the stream that is asked for")
_VERSION = re.compile(r"v\d\w*")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_BESIDE = re.compile(r":|(event|id|retry)\s*:")
"""Lines of a stream that are no data: comments that keep it open, and names that its events have."""

_DATA = "data:"


class GoogleClient:
    """`generate_content`, whole and in pieces; the SDK tries nothing again by itself."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._sdk = sdk("google.genai", "google")
        self._http: Any = None
        self._client: Any = place.given or self._connected(place)

    def _connected(self, place: Place) -> Any:
        self._http = _transport().AsyncClient(
            follow_redirects=True, event_hooks={"request": [self._limit], "response": [_opened, self._look]}
        )
        options: Json = {"retry_options": {"attempts": 1}, "httpx_async_client": self._http}
        if place.base_url:
            # The SDK wants the version apart; elsewhere it is the end of an address.
            options |= _versioned(place.base_url)
        key = key_for(place)
        try:
            return self._sdk.Client(http_options=options, **({"api_key": key} if key else {}))
        except ValueError as fault:
            raise no_key(place.model, "GEMINI_API_KEY") from fault

    async def events(self, request: Json, *, stream: bool) -> AsyncGenerator[Json, None]:
        """The pieces of a stream, or the whole response."""
        models = self._client.aio.models
        # Tools are run by whoever asked, and never by the SDK.
        asked: Json = request.get("config", {})
        config: Json = {"automatic_function_calling": {"disable": True}, **asked}
        arguments: Json = {"model": self._place.model, **request, "config": config}
        if not stream:
            yield plain(await models.generate_content(**arguments))
            return
        responses: list[Any] = []
        _RESPONSES.set(responses)
        chunks = await models.generate_content_stream(**arguments)
        try:
            async for chunk in chunks:
                yield plain(chunk)
        finally:
            # The SDK's generators are nested, and the outer one does not close those within.
            for response in responses:
                await response.aclose()
            await chunks.aclose()

    def explain(self, fault: Exception) -> Failure:
        """What an exception of the SDK means."""
        model = self._place.model
        if isinstance(fault, self._sdk.errors.APIError):
            told = _told(fault)
            return failure_of(model, told._replace(words=without_keys(told.words, self._keys())))
        if is_named(fault, *_LATE):
            return timed_out(model)
        if is_named(fault, *_LOST, *_DAMAGED):
            return connection_lost(model, fault)
        if isinstance(fault, NoResponse):
            return no_answer(model, without_keys(words_in(str(fault)), self._keys()))
        return failure_of(model, Told(kinds=type(fault).__name__, words=str(fault)))

    def _keys(self) -> tuple[object, ...]:
        found: Any = getattr(self._client, "_api_client", None)  # where the SDK looked for one itself
        return self._place.api_key, getattr(found, "api_key", None)

    async def close(self) -> None:
        """Let go of the connections, unless somebody else made them."""
        if self._place.given is None:
            await self._http.aclose()
            self._client.close()

    async def _limit(self, request: Any) -> None:
        # The SDK has one limit for everything.
        seconds = seconds_for(self._place.patience, stream="streamGenerateContent" in str(request.url))
        request.extensions = {**request.extensions, "timeout": seconds}

    async def _look(self, response: Any) -> None:
        # The SDK makes an empty answer of an error that comes with a good status, and cannot read a page.
        body = await body_of(response) if response.is_success else None
        if body is not None:
            self._raise_error(response_in(body), response)
        elif response.is_success:
            response.aiter_lines = partial(self._data, response.aiter_lines, response)

    async def _data(
        self, lines: Callable[[], AsyncIterator[str]], response: Any
    ) -> AsyncGenerator[str, None]:
        """The lines of a stream as the SDK reads them: it takes those that are no data for errors.

        And of an error it reads only those whose code is a number.
        """
        async for line in lines():
            if _BESIDE.match(line):
                continue
            if not line.startswith(_DATA):
                yield line
                continue
            data = line.removeprefix(_DATA).lstrip(" ")
            if '"error"' in data:
                self._raise_error(_object_of(data), response)
            yield f"{_DATA} {data}"

    def _raise_error(self, told: Mapping[str, Any], response: Any) -> None:
        """Raise the error that something tells of, if it does."""
        error = told.get("error")
        if error:
            inner = object_in(error) or {"status": error, "message": error}
            raise self._sdk.errors.APIError(0, {"error": inner}, response)


async def _opened(response: Any) -> None:
    _RESPONSES.get([]).append(response)


def _object_of(data: str) -> Mapping[str, Any]:
    try:
        return object_in(json.loads(data))
    except ValueError:  # the rest of it is on other lines
        return {}


def _versioned(address: str) -> Json:
    where, slash, version = address.rstrip("/").rpartition("/")
    if slash and _VERSION.fullmatch(version):
        return {"base_url": where, "api_version": version}
    return {"base_url": address}


def _transport() -> Any:
    """The module that speaks HTTP: the SDK takes either of two, and prefers the first."""
    return import_module("httpx2" if find_spec("httpx2") else "httpx")


def _told(fault: Any) -> Told:
    response: Any = getattr(fault, "response", None)
    headers = cast("Mapping[str, str]", getattr(response, "headers", None) or {})
    after = seconds_until(headers)
    if after is None:
        after = next(_delays(fault.details), None)
    status = fault.code if isinstance(fault.code, int) and fault.code >= 400 else None
    inner = object_in(object_in(fault.details).get("error"))
    named = (code for code in (inner.get("type"), inner.get("code")) if isinstance(code, str))
    return Told(
        status,
        codes_in(fault.status, *named),
        words_in(fault.details) or str(fault.message or ""),
        after,
    )


def _delays(details: Any) -> Iterator[float]:
    """The delays that the details of an error ask for, such as `17s`."""
    error = object_in(details).get("error") or details
    for detail in cast("list[Any]", object_in(error).get("details") or []):
        delay: Any = object_in(detail).get("retryDelay")
        found = _SECONDS.fullmatch(delay) if isinstance(delay, str) else None
        if found:
            yield float(found[1])
