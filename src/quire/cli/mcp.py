"""The command `mcp`: the conversations of a store for clients of the Model Context Protocol."""

from typing import Annotated

import typer

from quire.cli.options import KeyFile
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note

_LOCAL = "127.0.0.1"


def mcp(
    store: Annotated[
        str | None,
        typer.Argument(
            envvar="QUIRE_STORE", help="path or URL of the store; quire.db by default", show_default=False
        ),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="serve this scope, and nothing outside of it; by default all")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="also serve undo, which changes conversations")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="serve by HTTP on this port, in place of standard input"),
    ] = None,
    host: Annotated[str, typer.Option(help="the address to listen on, for HTTP")] = _LOCAL,
    key_file: KeyFile = None,
) -> None:
    """Serve the conversations of a store to clients of the Model Context Protocol, until interrupted.

    One client on standard input and output; with --port, any number by HTTP.
    """
    with errors_reported():
        from quire.integrations.mcp import server
    with at_store(store, key_file) as found:
        made = server(found, scope=scope, write=write)
        try:
            if port is None:
                made.run("stdio")
            else:
                note(f"http://{host}:{port}/mcp")
                if host != _LOCAL:
                    note("whoever reaches this address can read what is served: there is no password")
                made.run("streamable-http", host=host, port=port, stateless_http=True)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None
