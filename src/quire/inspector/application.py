"""The application: the files of the page, and its data as JSON.

The tables `READS` and `WRITES` list all its requests: functions of `quire.reading`, whose parameters come
from the query or a JSON body.
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
"""The functions that read a source, by name."""

WRITES: dict[str, Function] = {
    "undo": changes.undo,
    "distrust": changes.distrust,
    "fork": changes.fork,
    "compact": changes.compact,
    "decide": changes.decide,
    "cancel": changes.cancel,
}
"""The functions that change a writable source, by name."""

_MAX_FILE, _MAX_BODY = 64 * 2**20, 2**20
"""The most bytes of a file that is dropped on the page, and of a JSON body."""
_WAIT_SECONDS, _KEEP_ALIVE_SECONDS = 0.5, 15.0
"""How long one wait for a change is, and the time between two keep-alives of a stream of events."""


def app(
    store: str | Path | Store | None = None,
    *,
    files: Mapping[str, bytes] | None = None,
    scope: str | None = None,
    write: bool = False,
    token: str | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
) -> Starlette:
    """The inspector of a store, to run or to mount; `app.state.path` is the path to open in a browser.

    With a `scope`, the page shows nothing outside of it. With `write`, the page can change conversations. The
    path has a `token`, by default a new one, which the browser exchanges for a cookie; with an empty token,
    or other `hosts`, the application that mounts it has to protect it. `files` are histories to show
    read-only, by name.
    """
    token = secrets.token_urlsafe(24) if token is None else token
    inspector = _Inspector()
    if store is not None:
        opened = open_store(store)
        inner = getattr(opened, "inside", opened)
        label = Path(getattr(inner, "path", type(inner).__name__)).name
        inspector.sources["store"] = Source(opened, label=label, scope=scope, is_writable=write)
    if files:
        inspector.add_files(files, next(iter(files)) if len(files) == 1 else "files")
    routes = [
        Route("/", inspector.index),
        Mount("/page", StaticFiles(directory=PAGE)),
        Route("/api/sources", inspector.list_sources),
        Route("/api/files", inspector.open_file, methods=["POST"]),
        Route("/api/{source}/events", inspector.events),
        Route("/api/{source}/{name}", inspector.read, methods=["GET"]),
        Route("/api/{source}/{name}", inspector.write, methods=["POST"]),
    ]
    application = Starlette(routes=routes, exception_handlers={QuireError: _answer_error})
    application.add_middleware(Guard, token=token, hosts=hosts)
    application.state.path = f"/{token}/" if token else "/"
    return application


class _Inspector:
    """The open sources and the endpoints."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._numbers = count(1)

    def add_files(self, files: Mapping[str, bytes], label: str) -> dict[str, str]:
        """Open histories and logs as a new source, and return its name."""
        name = f"file-{next(self._numbers)}"
        self.sources[name] = histories.open_files(files, label)
        return {"source": name}

    async def index(self, request: Request) -> Response:
        page = (PAGE / "index.html").read_text("utf-8").replace("{{import map}}", import_map())
        return HTMLResponse(page)

    async def list_sources(self, request: Request) -> Response:
        fields = ("label", "scope", "is_writable", "is_file", "notes")
        sources = self.sources.items()
        rows = [{"name": name, **{f: getattr(source, f) for f in fields}} for name, source in sources]
        return _answer(rows)

    async def read(self, request: Request) -> Response:
        function, source = _lookup(READS, request), self._source(request)
        query = {name: text for name, text in request.query_params.items() if text}
        return await _run(partial(function, source, **_arguments(function, query, strict=False)))

    async def write(self, request: Request) -> Response:
        function, source = _lookup(WRITES, request), self._source(request)
        if not source.is_writable:
            return _answer({"error": "this is read-only: start the inspector with --write"}, 403)
        try:
            body = msgspec.json.decode(await _body(request, _MAX_BODY), type=dict[str, Any])
        except msgspec.MsgspecError as fault:
            raise InvalidValue(f"the body is not a JSON object: {fault}") from None
        return await _run(partial(function, source, **_arguments(function, body, strict=True)))

    async def open_file(self, request: Request) -> Response:
        data, query = await _body(request, _MAX_FILE), request.query_params
        name, into = query.get("name", "file"), self.sources.get(query.get("into", ""))
        if into is not None:
            return await _run(partial(histories.add_file, into, name, data))
        return await _run(partial(self.add_files, {name: data}, name))

    async def events(self, request: Request) -> Response:
        """Stream an event for each change of a conversation, or, without an address, of any conversation."""
        source, address = self._source(request), request.query_params.get("address")
        wait = partial(conversations.wait_for_change, source)
        if address is not None:
            wait = partial(source.store.wait, source.place(address))

        async def events() -> AsyncIterator[str]:
            version, quiet_seconds = -1, 0.0
            while True:
                newest = await FOLLOWING.do(wait, version, _WAIT_SECONDS)
                quiet_seconds += _WAIT_SECONDS
                if newest != version:
                    version, quiet_seconds = newest, 0.0
                    yield f'data: {{"version": {version}}}\n\n'
                elif quiet_seconds >= _KEEP_ALIVE_SECONDS:
                    quiet_seconds = 0.0
                    yield ": alive\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    def _source(self, request: Request) -> Source:
        name = request.path_params["source"]
        if name not in self.sources:
            raise UnknownId(f"there is no source {cut(name)!r}")
        return self.sources[name]


def _lookup(table: Mapping[str, T], request: Request) -> T:
    name = request.path_params["name"]
    if name not in table:
        raise UnknownId(f"there is nothing named {cut(name)!r} here")
    return table[name]


def _arguments(function: Function, values: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """The values that a function has parameters for, converted to their types."""
    try:
        converted = msgspec.convert(values, _parameters(function), strict=strict)
    except msgspec.ValidationError as fault:
        text, place = without_content(fault)
        raise InvalidValue(f"{place.lstrip('.') or 'a parameter'}: {text}") from None
    return {name: getattr(converted, name) for name in values if hasattr(converted, name)}


@cache
def _parameters(function: Function) -> type[msgspec.Struct]:
    """A type whose fields are the parameters of a function after its source."""
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    fields = [
        (p.name, hints[p.name]) if p.default is p.empty else (p.name, hints[p.name], p.default)
        for p in parameters
    ]
    return msgspec.defstruct(function.__name__, fields)


async def _run(work: Callable[[], Any]) -> Response:
    return _answer(await run_in_threadpool(work))


async def _body(request: Request, limit: int) -> bytes:
    """The body of a request, refused as soon as it is too large."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > limit:
            raise TooLarge(f"a file or a body must have at most {limit:,} bytes")
    return bytes(data)


def _answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def _answer_error(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, QuireError)
    return _answer({"error": str(fault)}, status_of(fault))
