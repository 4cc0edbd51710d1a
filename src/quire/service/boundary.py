"""The boundary: the middleware that checks the sender, the key and the size of every request, and logs it."""

import asyncio
import logging
import time
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.reading.http import LOOPBACK, is_of_another_site, is_served
from quire.service.keys import Caller, Keys
from quire.service.metrics import Metrics
from quire.service.problems import Problem, document, problem_of

logger = logging.getLogger("quire.service")

_KEYLESS_PATHS = ("/health", "/ready", "/openapi.json")
"""The paths that need no key."""

CALLER = "quire.caller"
"""The name of the caller in the ASGI scope of a request."""

_SINGLE_HEADERS = (
    *(b"authorization", b"content-type", b"host", b"idempotency-key", b"last-event-id", b"origin"),
    *(b"quire-conversation", b"quire-user", b"sec-fetch-site"),
)
"""Headers that must not be repeated: a proxy and the service might each read another one."""

_ADDED_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}


class Boundary:
    """Checks the sender and the size of a request, adds headers to the response, and logs both.

    Names in a path are percent-encoded. The server decodes the whole path, slashes within names included. So
    the boundary restores the raw path, and routes decode each name.
    """

    def __init__(
        self, app: ASGIApp, keys: Keys | None, max_body: int, read_timeout: float, metrics: Metrics
    ) -> None:
        self._app, self._keys, self._max_body, self._metrics = app, keys, max_body, metrics
        self._read_timeout = read_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_ADDED_HEADERS.items()]
            await send(message)

        try:
            await self._answer(scope, receive, send_with_headers)
        except Exception as fault:
            problem = problem_of(fault)
            if problem.status == 500:  # an error may quote content, so only its type is logged
                logger.error("a request failed: %s", type(fault.__cause__ or fault).__name__)
            if not status:
                await document(problem, scope["path"])(scope, receive, send_with_headers)
        finally:
            # Only the names of the route and of the key, and no content.
            route = str(getattr(scope.get("endpoint"), "__name__", "unknown"))
            seconds, key = time.perf_counter() - began, scope[CALLER].key if CALLER in scope else "-"
            self._metrics.answered(route, status, seconds)
            logger.info("%s %s %d %.0f ms %s", scope["method"], route, status, seconds * 1e3, key)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, size, is_read = Headers(scope=scope), 0, False
        names, deadline = [name for name, _ in scope["headers"]], time.monotonic() + self._read_timeout
        if repeated := next((name for name in _SINGLE_HEADERS if names.count(name) > 1), None):
            raise Problem(400, f"the header {repeated.decode()} comes more than once")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self._max_body:
            raise self._too_large()
        try:
            scope["path"] = scope["raw_path"].partition(b"?")[0].decode("ascii")
        except UnicodeDecodeError:
            raise Problem(400, "the path is not percent-encoded") from None

        async def receive_bounded() -> Message:
            nonlocal size, is_read
            try:
                async with asyncio.timeout(None if is_read else deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                detail = f"a request must arrive within {self._read_timeout:g} seconds"
                raise Problem(408, detail, {"connection": "close"}) from None
            is_read = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self._max_body:
                raise self._too_large()
            return message

        if self._keys is None:
            _check_local(scope, headers)
            scope[CALLER] = Caller()
            await self._app(scope, receive_bounded, send)
        elif scope["path"] in _KEYLESS_PATHS:
            await self._app(scope, receive_bounded, send)
        else:
            authorization, user = headers.get("authorization", ""), headers.get("quire-user")
            with self._keys.admit(authorization, user) as scope[CALLER]:
                await self._app(scope, receive_bounded, send)

    def _too_large(self) -> Problem:
        detail = f"a body must have at most {self._max_body:,} bytes"
        return Problem(413, detail, {"connection": "close"})  # the rest is not read


def _check_local(scope: Scope, headers: Headers) -> None:
    """Refuse other machines, browsers and DNS rebinding."""
    try:
        peer = ip_address((scope.get("client") or [""])[0])
    except ValueError:
        peer = None
    if isinstance(peer, IPv6Address):
        peer = peer.ipv4_mapped or peer
    is_here = peer is not None and peer.is_loopback and is_served(headers, LOOPBACK)
    if not is_here or is_of_another_site(headers):
        raise Problem(403, "without keys the service serves only programs on this machine")
