"""The relay: passes the bytes of a request to its upstream, and those of the answer back, unchanged.

A request waits for nothing else, except for its change if requests may be changed, and then until a timeout.
Keys are passed on, and never handed to the recorder.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from urllib.parse import urlsplit

import httpx
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from quire.errors import InvalidValue, cut
from quire.items import now
from quire.proxy.exchange import Exchange, wire_at
from quire.proxy.observer import Outcome
from quire.proxy.recorder import Recorder
from quire.proxy.tee import DECODING_HEADERS, HOP_BY_HOP, KEY_HEADER, MAX_BODY, NOT_SENT, Refused, Target, Tee

UPSTREAMS = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_CHANGED_HEADERS = (b"content-length", b"content-encoding")
_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,39}")
_MAX_IDLE = 200
"""The number of idle connections that are kept open."""

Admit = Callable[[str], str | None]
"""Returns the owner of a key; None for an unknown one."""


def checked_upstreams(added: Mapping[str, str]) -> dict[str, str]:
    """All upstreams by name; `InvalidValue` for a bad name or address."""
    upstreams = {**UPSTREAMS, **added}
    for name, url in upstreams.items():
        parts = urlsplit(url)
        if not _NAME.fullmatch(name) or parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidValue(f"an upstream must be name=URL: local=http://127.0.0.1:8080; not {cut(name)}")
    return {name: url.rstrip("/") for name, url in upstreams.items()}


class Relay:
    """The ASGI application: passes `/name/…` on to the upstream of that name."""

    def __init__(
        self,
        upstreams: Mapping[str, str] | None = None,
        recorder: Recorder | None = None,
        *,
        admit: Admit | None = None,
        timeout: float = 10.0,
    ) -> None:
        """`admit` checks keys; without it only this machine is served. Changes may take `timeout` seconds."""
        self.upstreams, self.recorder = checked_upstreams(upstreams or {}), recorder
        self._admit, self._timeout, self._numbers = admit, timeout, count(1)
        # One client for each connection: the pool of a client scans all of its connections for each request.
        self._idle, self._certificates = list[httpx.AsyncClient](), httpx.create_ssl_context()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        try:
            target = self._target(scope)
            if scope["type"] == "websocket":
                from quire.proxy.sockets import pass_messages

                await pass_messages(target, self._tee, scope, receive, send)
            else:
                await self._pass(target, scope, receive, send)
        except Refused as refusal:
            await _refuse(scope, send, refusal.status, str(refusal))

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.recorder is not None:
            self.recorder.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self.recorder is not None:
            await self.recorder.close()
        for client in self._idle:
            await client.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    def _target(self, scope: Scope) -> Target:
        """The target of a request; `Refused` if it has none."""
        headers, caller = Headers(scope=scope), ""
        if self._admit is None:
            _check_local(headers)
        else:
            caller = self._admit(headers.get(KEY_HEADER.decode(), "")) or ""
            if not caller:
                raise Refused(401, f"the header {KEY_HEADER.decode()} needs a key of this proxy")
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        name, _, path = raw.partition(b"?")[0].decode("latin-1").removeprefix("/").partition("/")
        if name not in self.upstreams:
            raise Refused(404, f"unknown upstream; there are {', '.join(self.upstreams)}")
        query = scope["query_string"].decode("latin-1")
        url = f"{self.upstreams[name]}/{path}" + (f"?{query}" if query else "")
        return Target(name, f"/{path}", url, caller)

    async def _pass(self, target: Target, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in NOT_SENT]
        body, rest = await _read(receive)
        content: bytes | AsyncIterator[bytes] | None = (body or None) if rest is None else rest
        tee = None
        if rest is None and scope["method"] == "POST" and wire_at(target.path):
            tee = self._tee(target, body, Headers(scope=scope).items())
        if tee is not None and tee.change is not None:
            body_to_send = await self._changed_body(tee.change)
            if body_to_send is not None:
                content, tee.is_changed = body_to_send, True
                headers = [(name, value) for name, value in headers if name not in _CHANGED_HEADERS]
        request = httpx.Request(scope["method"], target.url, headers=headers, content=content)
        passing = asyncio.ensure_future(self._send(request, tee, scope, send))
        disconnect = _wait_for_disconnect(receive) if rest is None else asyncio.Event().wait()
        leaving = asyncio.ensure_future(disconnect)
        try:
            await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():  # the program disconnected
                passing.cancel()
            with suppress(asyncio.CancelledError):
                await passing
        finally:
            passing.cancel()
            leaving.cancel()

    def _tee(self, target: Target, body: bytes, headers: Iterable[tuple[str, str]]) -> Tee | None:
        """Begin to record a request, without the headers that may hold a key."""
        if self.recorder is None:
            return None
        decoding = tuple((name, value) for name, value in headers if name in DECODING_HEADERS)
        number = next(self._numbers)
        exchange = Exchange(number, target.upstream, target.path, body, now(), target.caller, decoding)
        return Tee(self.recorder, number, self.recorder.begin(exchange))

    async def _changed_body(self, change: "asyncio.Future[Outcome | None]") -> bytes | None:
        """The body to send in place of a request; None if there is none before the timeout."""
        try:
            async with asyncio.timeout(self._timeout):
                outcome = await asyncio.shield(change)
        except TimeoutError:
            return None
        return None if outcome is None else outcome.body

    async def _send(self, request: httpx.Request, tee: Tee | None, scope: Scope, send: Send) -> None:
        response: httpx.Response | None = None
        client = self._idle.pop() if self._idle else self._new_client()
        try:
            response = await _send_with_retry(request, client)
            if tee is not None:
                tee.begin(response.status_code, response.headers.items())
            headers = [(name.lower(), value) for name, value in response.headers.raw]
            headers = [(name, value) for name, value in headers if name not in HOP_BY_HOP]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for chunk in response.aiter_raw():
                if tee is not None:
                    tee.add(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            if tee is not None:
                tee.is_whole = True
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            if response is not None:  # so that the program's connection breaks off, too
                raise
            await _refuse(scope, send, 502, f"the upstream cannot be reached: {type(fault).__name__}")
        finally:
            if tee is not None:
                tee.close()
            if response is not None:
                await response.aclose()
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(client)
            else:
                await client.aclose()

    def _new_client(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=2, keepalive_expiry=30.0)
        wait = httpx.Timeout(None, connect=30.0)
        return httpx.AsyncClient(timeout=wait, limits=limits, verify=self._certificates)


async def _send_with_retry(request: httpx.Request, client: httpx.AsyncClient) -> httpx.Response:
    """The answer to a request, without its body.

    An upstream may close an idle connection just when it is used again. Then the request is retried on a new
    one, since the program did not choose to reuse the connection.
    """
    is_new = False

    async def trace(event: str, _: object) -> None:
        nonlocal is_new
        is_new |= event == "connection.connect_tcp.started"

    request.extensions = {**request.extensions, "trace": trace}
    while True:
        try:
            return await client.send(request, stream=True)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if is_new or not isinstance(request.stream, httpx.ByteStream):
                raise


def _check_local(headers: Headers) -> None:
    """Refuse other machines, browsers and DNS rebinding."""
    origin = headers.get("origin")
    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname
        site = name if origin is None else urlsplit(origin).hostname  # `null` has no host name
    except ValueError:
        name = site = None
    if name not in LOOPBACK or site not in LOOPBACK:
        raise Refused(403, "without keys the proxy serves only programs on this machine")


async def _read(receive: Receive) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """The body of a request, or, if it is too large to keep, a stream of its pieces."""
    pieces, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the program disconnected")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if not message.get("more_body", False):
            return b"".join(pieces), None
        if size > MAX_BODY:
            return b"", _stream(pieces, receive)


async def _stream(pieces: list[bytes], receive: Receive) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    has_more = True
    while has_more:
        message = await receive()
        has_more = message.get("more_body", False)
        yield message.get("body", b"")


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(scope: Scope, send: Send, status: int, text: str) -> None:
    """Answer with an error that the clients of all providers can read."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": text})
        return
    error = {"type": "proxy_error", "code": status, "message": f"quire proxy: {text}"}
    body = json.dumps({"type": "error", "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
