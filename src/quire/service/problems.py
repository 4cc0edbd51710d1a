"""The boundary: what every request meets first, and errors as problem documents (RFC 9457).

A body that is too large is refused before it is read. An error is one sentence without content.
"""

import logging
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.errors import (
    Conflict,
    EditRefused,
    Forgotten,
    ModelFailed,
    OverBudget,
    QuireError,
    Stopped,
    StoreDamaged,
    StoreError,
    TooLarge,
    TurnBusy,
    UnknownId,
    UnknownKey,
)
from quire.service.keys import Caller, Keys
from quire.service.metrics import Metrics
from quire.service.refusals import Problem

logger = logging.getLogger("quire.service")

LOOPBACK = ("127.0.0.1", "localhost", "::1")

OPEN = ("/health", "/ready", "/openapi.json")
"""The paths that need no key."""

CALLER = "quire.caller"
"""Where the scope of a request holds who asks."""

RETRY_AFTER = 5
"""Seconds after which a client may ask again when the service or its store is busy."""

_STATUS: dict[type[QuireError], int] = {
    UnknownId: 404,
    UnknownKey: 404,
    Forgotten: 410,
    Conflict: 409,
    TurnBusy: 409,
    EditRefused: 409,
    TooLarge: 413,
    Stopped: 503,
    StoreDamaged: 500,
    StoreError: 503,
    ModelFailed: 502,
    OverBudget: 409,
}
"""Every other error of Quire is about what was asked: 400."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def problem_of(fault: Exception) -> Problem:
    """An error as a problem."""
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, HTTPException):
        return Problem(fault.status_code, str(fault.detail), fault.headers)
    if isinstance(fault, QuireError):
        status = next((code for kind, code in _STATUS.items() if isinstance(fault, kind)), 400)
        headers = {"retry-after": str(RETRY_AFTER)} if status == 503 else {}
        return Problem(status, "the store cannot be read" if status == 500 else str(fault), headers)
    return Problem(500, "the service failed at this request")


def document(problem: Problem, path: str) -> Response:
    """The document of a problem. Below `/v1` it has the member that OpenAI's clients read."""
    title = HTTPStatus(problem.status).phrase
    told: dict[str, Any] = {
        "type": "about:blank",
        "title": title,
        "status": problem.status,
        "detail": problem.detail,
    }
    if path.startswith("/v1/"):
        told["error"] = {
            "message": problem.detail,
            "type": "server_error" if problem.status >= 500 else "invalid_request_error",
            "code": title.lower().replace(" ", "_"),
            "param": None,
        }
    return Response(
        msgspec.json.encode(told),
        status_code=problem.status,
        headers=problem.headers,
        media_type="application/problem+json",
    )


def route_of(scope: Scope) -> str:
    """The name of the route that answers a request, and nothing of what is asked."""
    return str(getattr(scope.get("endpoint"), "__name__", "unknown"))


class Boundary:
    """Checks the host and the size of each request, adds headers, and notes how it was answered.

    Names are percent-encoded within the path. A server decodes the path before the application sees it, and
    with it slashes within names. So routes see the path as it came, and decode each name on its own.
    """

    def __init__(self, app: ASGIApp, keys: Keys | None, largest: int, metrics: Metrics) -> None:
        self._app, self._keys, self._largest, self._metrics = app, keys, largest, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_encoded(_HEADERS)]
            await send(message)

        try:
            await self._answer(scope, receive, send_noted)
        except Exception as fault:
            problem = problem_of(fault)
            if problem.status >= 500:  # an error may quote content, so only its type is logged
                logger.error("%s failed: %s", route_of(scope), type(fault).__name__)
            if problem.status == 429:
                self._metrics.refused(problem.detail)
            if not status:
                await document(problem, scope["path"])(scope, receive, send_noted)
        finally:
            seconds, route = time.perf_counter() - began, route_of(scope)
            self._metrics.answered(scope["method"], route, status, seconds)
            key = scope[CALLER].key if CALLER in scope else "-"
            logger.info("%s %s %d %.0f ms %s", scope["method"], route, status, seconds * 1e3, key)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, read = Headers(scope=scope), 0
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self._largest:
            raise self._too_large()
        try:
            scope["path"] = scope["raw_path"].partition(b"?")[0].decode("ascii")
        except UnicodeDecodeError:
            raise Problem(400, "the path is not percent-encoded") from None

        async def receive_bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._largest:
                raise self._too_large()
            return message

        if self._keys is None:
            _check_origin(headers)
            scope[CALLER] = Caller()
            await self._app(scope, receive_bounded, send)
        elif scope["path"] in OPEN:
            await self._app(scope, receive_bounded, send)
        else:
            key, user = headers.get("authorization", ""), headers.get("quire-user")
            with self._keys.admitted(key, user) as scope[CALLER]:
                await self._app(scope, receive_bounded, send)

    def _too_large(self) -> Problem:
        told = f"a body has at most {self._largest:,} bytes"
        return Problem(413, told, {"connection": "close"})  # the rest is not read


def _check_origin(headers: Headers) -> None:
    """Without keys only programs of this machine may ask: no pages, and no names that lead here."""
    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        name = None
    if name not in LOOPBACK or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Problem(403, "without keys the service answers programs of this machine alone")


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
