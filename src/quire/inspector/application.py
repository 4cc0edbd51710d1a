"""The application: the files of the page, and what the page asks for as JSON.

The tables `READS` and `WRITES` name all that it answers: functions of `quire.reading`, whose parameters are
those of a query or the fields of a JSON body.
"""

import inspect
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from quire.errors import InvalidValue, QuireError, TooLarge, UnknownId, cut
from quire.inspector.guard import PAGE, Guard, import_map
from quire.items import without_content
from quire.reading import (
    Source,
    calls,
    changes,
    compactions,
    conversations,
    files as histories,
    influence,
    jobs,
    memory,
    open_work,
    requests,
    transcripts,
    trials,
    why,
)
from quire.reading.http import LOOPBACK, status_of
from quire.session import open_store
from quire.stores import Store
from quire.stores.threads import FOLLOWING

T = TypeVar("T")
Function = Callable[..., Any]

READS: dict[str, Function] = {
    "conversations": conversations.list_conversations,
    "search": memory.search,
    "words": why.explain_words,
    "conversation": transcripts.describe_conversation,
    "transcript": transcripts.read_transcript,
    "tokens": transcripts.measure,
    "item": transcripts.read_item,
    "why": why.explain,
    "influence": influence.trace_influence,
    "compare": transcripts.compare,
    "compactions": compactions.list_compactions,
    "sources": compactions.read_sources,
    "preview": compactions.preview_compaction,
    "steps": calls.list_calls,
    "jobs": jobs.list_jobs,
    "open": open_work.list_open_work,
    "requests": requests.list_requests,
    "request": requests.read_request,
    "bytes": requests.read_bytes,
    "what-if": trials.try_settings,
    "bill": trials.compare_bills,
    "faults": histories.find_faults,
}
"""What can be read of a source, by name."""

WRITES: dict[str, Function] = {
    "undo": changes.undo,
    "distrust": changes.distrust,
    "fork": changes.fork,
    "compact": changes.compact,
    "decide": changes.decide,
    "cancel": changes.cancel,
}
"""What can be changed in a writable source, by name."""

_LARGEST = 64 * 2**20
"""Bytes of a file that is dropped on the page."""
_LARGEST_BODY = 2**20
_PATIENCE = 0.5
_ALIVE = 15.0
"""Seconds between two signs of life in a stream of events."""


def app(
    store: str | Path | Store | None = None,
    *,
    files: Mapping[str, bytes] | None = None,
    scope: str | None = None,
    write: bool = False,
    token: str | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
) -> Starlette:
    """Make the inspector of a store, to run or to mount; `app.state.path` is the path that leads into it.

    With a `scope`, nothing outside of it can be named or seen. Only with `write` can the page change
    something. The path has a `token`, by default a new one, which a browser exchanges for a cookie; an empty
    token leaves the protection to the application that mounts it, as do other `hosts`. `files` are histories
    to show read-only, by name.
    """
    token = secrets.token_urlsafe(24) if token is None else token
    inspector = _Inspector()
    if store is not None:
        opened = open_store(store)
        inside = getattr(opened, "inside", opened)
        label = Path(getattr(inside, "path", type(inside).__name__)).name
        inspector.sources["store"] = Source(opened, label=label, scope=scope, is_writable=write)
    if files:
        inspector.add_files(files, next(iter(files)) if len(files) == 1 else "files")
    routes = [
        Route("/", inspector.index),
        Mount("/page", StaticFiles(directory=PAGE)),
        Route("/api/sources", inspector.listed),
        Route("/api/files", inspector.open_file, methods=["POST"]),
        Route("/api/{source}/events", inspector.events),
        Route("/api/{source}/{name}", inspector.read, methods=["GET"]),
        Route("/api/{source}/{name}", inspector.write, methods=["POST"]),
    ]
    made = Starlette(routes=routes, exception_handlers={QuireError: _fault})
    made.add_middleware(Guard, token=token, hosts=hosts)
    made.state.path = f"/{token}/" if token else "/"
    return made


class _Inspector:
    """The sources that are open, and the endpoints."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._numbers = count(1)

    def add_files(self, given: Mapping[str, bytes], label: str) -> dict[str, str]:
        """Open histories and logs as a source of their own, and return the name of the source."""
        name = f"file-{next(self._numbers)}"
        self.sources[name] = histories.open_files(given, label)
        return {"source": name}

    async def index(self, request: Request) -> Response:
        page = (PAGE / "index.html").read_text("utf-8").replace("{{import map}}", import_map())
        return HTMLResponse(page)

    async def listed(self, request: Request) -> Response:
        fields = ("label", "scope", "is_writable", "is_file", "notes")
        return _answer(
            [
                {"name": name, **{field: getattr(source, field) for field in fields}}
                for name, source in self.sources.items()
            ]
        )

    async def read(self, request: Request) -> Response:
        function, source = _named(READS, request), self._source(request)
        asked = {name: text for name, text in request.query_params.items() if text}
        return await _computed(partial(function, source, **_checked(function, asked, strict=False)))

    async def write(self, request: Request) -> Response:
        function, source = _named(WRITES, request), self._source(request)
        if not source.is_writable:
            return _answer({"error": "this is read-only: start the inspector with --write"}, 403)
        try:
            body = msgspec.json.decode(await _body(request, _LARGEST_BODY), type=dict[str, Any])
        except msgspec.MsgspecError as fault:
            raise InvalidValue(f"the body is a JSON object: {fault}") from None
        return await _computed(partial(function, source, **_checked(function, body, strict=True)))

    async def open_file(self, request: Request) -> Response:
        data, given = await _body(request, _LARGEST), request.query_params
        name, into = given.get("name", "file"), self.sources.get(given.get("into", ""))
        if into is not None:
            return await _computed(partial(histories.add_file, into, name, data))
        return await _computed(partial(self.add_files, {name: data}, name))

    async def events(self, request: Request) -> Response:
        """Tell when a conversation changes, or, without an address, when any does."""
        source, address = self._source(request), request.query_params.get("address")
        wait = (
            partial(conversations.wait_for_change, source)
            if address is None
            else partial(source.store.wait, source.place(address))
        )

        async def events() -> AsyncIterator[str]:
            version, quiet = -1, 0.0
            while True:
                found = await FOLLOWING.do(wait, version, _PATIENCE)
                quiet = 0.0 if found != version else quiet + _PATIENCE
                if found != version:
                    version = found
                    yield f'data: {{"version": {version}}}\n\n'
                elif quiet >= _ALIVE:
                    quiet = 0.0
                    yield ": alive\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    def _source(self, request: Request) -> Source:
        name = request.path_params["source"]
        if name not in self.sources:
            raise UnknownId(f"there is no source {cut(name)!r}")
        return self.sources[name]


def _named(table: Mapping[str, T], request: Request) -> T:
    name = request.path_params["name"]
    if name not in table:
        raise UnknownId(f"there is nothing named {cut(name)!r} here")
    return table[name]


def _checked(function: Function, given: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """The parameters of a function, as far as they are given."""
    try:
        found = msgspec.convert(given, _parameters(function), strict=strict)
    except msgspec.ValidationError as fault:
        text, place = without_content(fault)
        raise InvalidValue(f"{place.lstrip('.') or 'a parameter'}: {text}") from None
    return {name: getattr(found, name) for name in given if hasattr(found, name)}


@cache
def _parameters(function: Function) -> type[msgspec.Struct]:
    """The parameters of a function after its source, as a type that a query is converted to."""
    hints, (_, *names) = get_type_hints(function, include_extras=True), inspect.signature(function).parameters
    defaults = {name: inspect.signature(function).parameters[name].default for name in names}
    fields = [
        (name, hints[name]) if default is inspect.Parameter.empty else (name, hints[name], default)
        for name, default in defaults.items()
    ]
    return msgspec.defstruct(function.__name__, fields)


async def _computed(work: Callable[[], Any]) -> Response:
    return _answer(await run_in_threadpool(work))


async def _body(request: Request, largest: int) -> bytes:
    """The body of a request, refused as soon as it is too large."""
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > largest:
            raise TooLarge(f"it has more than {largest:,} bytes")
    return bytes(read)


def _answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def _fault(request: Request, fault: Exception) -> Response:
    """An error as a sentence."""
    assert isinstance(fault, QuireError)
    return _answer({"error": str(fault)}, status_of(fault))
