"""The command `inspect`: a local page that shows what the model saw of a conversation, and why."""

import webbrowser
from typing import Annotated

import typer

from quire.cli.options import KeyFile
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note, say

_LOCAL = "127.0.0.1"


def inspect(
    store: Annotated[
        str | None,
        typer.Argument(
            envvar="QUIRE_STORE",
            help="path or URL of the store, or a history or log; quire.db by default",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="show this scope, and nothing outside of it; by default all")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="let the page undo, branch, compact and decide calls")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="the port; by default a free one")] = 0,
    browser: Annotated[bool, typer.Option(help="open the page in the browser")] = True,
    key_file: KeyFile = None,
) -> None:
    """Open a page that shows what the model saw of conversations, and why, until interrupted."""
    with errors_reported():
        from quire.inspector import app
        from quire.inspector.serving import serve
    with at_store(store, key_file) as found:

        def opened(url: str) -> None:
            say(url)
            note("until Ctrl+C; the address holds a token: whoever has it and this machine can read it all")
            if browser:
                webbrowser.open(url)

        serve(app(found, scope=scope, write=write), host=_LOCAL, port=port, opened=opened)
