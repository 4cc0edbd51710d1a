"""The command `mcp`: the conversations of a store for clients of the Model Context Protocol."""

import hmac
from typing import Annotated, Any

import typer

from quire.cli.options import KeyFile
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note
from quire.errors import InvalidValue
from quire.reading.http import LOOPBACK

_MIN_KEY = 16
"""The fewest characters of an access key."""


def mcp(
    store: Annotated[
        str | None,
        typer.Argument(
            envvar="QUIRE_STORE", help="path or URL of the store; quire.db by default", show_default=False
        ),
    ] = None,
    scope: Annotated[str | None, typer.Option(help="serve only this scope; by default all")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="also serve undo, which changes conversations")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="serve by HTTP on this port, in place of standard input"),
    ] = None,
    host: Annotated[
        str, typer.Option(help="the address to listen on, for HTTP; others than loopback need a key")
    ] = "127.0.0.1",
    access_key: Annotated[
        str | None,
        typer.Option(envvar="QUIRE_MCP_KEY", help="what clients send as `Authorization: Bearer …`, for HTTP"),
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Serve the conversations of a store to clients of the Model Context Protocol, until interrupted.

    One client on standard input and output; with --port, any number by HTTP.
    """
    with errors_reported():
        from quire.mcp import server

        if port is not None and host not in LOOPBACK and access_key is None:
            raise InvalidValue("other machines need a key: set QUIRE_MCP_KEY")
        if access_key is not None and len(access_key) < _MIN_KEY:
            raise InvalidValue(f"an access key must have at least {_MIN_KEY} characters")
    with at_store(store, key_file) as opened:
        served = server(opened, scope=scope, write=write)
        try:
            if port is None:
                served.run("stdio")
            else:
                import uvicorn

                note(f"http://{host}:{port}/mcp")
                application = served.streamable_http_app(host=host, stateless_http=True)
                guarded = application if access_key is None else _guarded(application, access_key)
                uvicorn.run(guarded, host=host, port=port, log_level="warning")
        except KeyboardInterrupt:
            raise typer.Exit(0) from None


def _guarded(application: Any, key: str) -> Any:
    """An ASGI application that requires a key."""
    from starlette.responses import PlainTextResponse

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        headers = scope.get("headers", ())
        values = [value.partition(b" ") for name, value in headers if name == b"authorization"]
        has_key = [scheme.lower() for scheme, _, _ in values] == [b"bearer"]
        is_known = has_key and hmac.compare_digest(values[0][2].strip(), key.encode())
        if is_known or scope["type"] == "lifespan":
            await application(scope, receive, send)
        else:
            refusal = PlainTextResponse("a valid key is needed", 401, {"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)

    return answer
