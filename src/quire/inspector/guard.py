"""The guard: who may use the inspector, and what its page may do in the browser."""

import base64
import hashlib
import hmac
import json
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.reading.http import is_of_another_site, is_served

PAGE = Path(__file__).with_name("page")


class Guard:
    """Admits only the page of this machine, and adds a content security policy.

    The address with the token is exchanged for a cookie, so that no browser history or bookmark has it.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: tuple[str, ...]) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        # All ports of a host share their cookies.
        self._cookie = f"quire-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        root: str = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        refusal = self._refusal(scope, path, Headers(scope=scope))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_headers()]
            await send(message)

        if refusal is not None:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, send_guarded)
        elif self._token and path == f"/{self._token}/":
            answer = RedirectResponse(f"{root}/", 303)
            answer.set_cookie(self._cookie, self._token, path=f"{root}/", httponly=True, samesite="lax")
            await answer(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope, path: str, headers: Headers) -> str | None:
        """Why a request is refused; `None` if it is admitted."""
        if not is_served(headers, self._hosts):
            return "This address is not served here."
        tokens = [path.strip("/"), cookie_parser(headers.get("cookie", "")).get(self._cookie, "")]
        if self._token and not any(
            hmac.compare_digest(sent.encode(), self._token.encode()) for sent in tokens
        ):
            return "Open the address that `quire inspect` printed: it has a token."
        is_page = scope["method"] == "GET" and path in ("/", f"/{self._token}/")
        return "Another site sent this request." if is_of_another_site(headers, is_page=is_page) else None


@cache
def _headers() -> list[tuple[bytes, bytes]]:
    digest = base64.b64encode(hashlib.sha256(import_map().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    rows = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
    }
    return [(name.encode(), value.encode()) for name, value in rows.items()]


@cache
def import_map() -> str:
    """The import map of the page."""
    own = {f"quire/{path.name}": f"./page/{path.name}" for path in sorted(PAGE.glob("*.js"))}
    return json.dumps({"imports": {"preact": "./page/vendor/preact.js", **own}})
