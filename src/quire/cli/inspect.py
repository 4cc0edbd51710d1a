"""The command `inspect`: a local page that shows what the model saw of a conversation, and why."""

import webbrowser
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import COUNTED_AS, KeyFile
from quire.cli.phrases import listed, plural
from quire.cli.sockets import listen
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note, read_bytes, say
from quire.errors import InvalidValue
from quire.tokens import counter_for

if TYPE_CHECKING:
    from starlette.applications import Starlette

_HISTORIES = (".json", ".jsonl", ".ndjson")
_MAX_FILES, _MAX_BYTES = 500, 256 * 2**20
"""The most files of a folder that are opened, and their bytes."""


def inspect(
    store: Annotated[
        str | None,
        typer.Argument(
            envvar="QUIRE_STORE",
            help="path or URL of the store, or a history, log or folder of them; quire.db by default",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[str | None, typer.Option(help="show only this scope; by default all")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="let the page undo, branch, compact, decide calls and cancel jobs")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="the port; by default a free one")] = 0,
    browser: Annotated[bool, typer.Option(help="open the page in the browser")] = True,
    key_file: KeyFile = None,
) -> None:
    """Open a page that shows what the model saw of conversations, and why, until interrupted."""
    with errors_reported():
        from quire.inspector import app

        files = _files_at(store)
        if files and (write or scope is not None or key_file is not None):
            raise InvalidValue("files have no scopes or keys and are read-only: leave the options out")

    def announce(url: str) -> None:
        say(url)
        note("until Ctrl+C; the address has a token: anyone on this machine who has it can read everything")
        if browser:
            webbrowser.open(url)

    if files:
        with errors_reported():
            _serve(app(files=files), port, announce)
        return
    with at_store(store, key_file) as opened:
        _serve(app(opened, scope=scope, write=write), port, announce)


def _serve(app: "Starlette", port: int, announce: Callable[[str], object]) -> None:
    """Serve until interrupted; `announce` is called with the address of the page."""
    import uvicorn

    # The first count of tokens takes some tenths of a second, so it begins here.
    Thread(target=lambda: counter_for(COUNTED_AS).text("word " * 2_000), daemon=True).start()
    listening, url = listen("127.0.0.1", port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    announce(f"{url}{app.state.path}")  # the socket listens already
    uvicorn.Server(config).run(sockets=[listening])


def _files_at(name: str | None) -> dict[str, bytes]:
    """The histories and logs at a path by name, of a folder the newest; none if the path is a store."""
    from quire.reading.files import is_store

    path = Path(name or "")
    if name is None or not path.exists() or (path.is_file() and path.suffix not in _HISTORIES):
        return {}
    if path.is_file():
        data = read_bytes(name)
        return {} if not data or is_store(data) else {path.name: data}
    files = [file for file in path.rglob("*") if file.suffix in _HISTORIES and file.is_file()]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    sizes = accumulate(file.stat().st_size for file in files)
    newest = [file for file, size in zip(files[:_MAX_FILES], sizes, strict=False) if size <= _MAX_BYTES]
    note(f"reading {plural(len(newest), 'file')} of {len(files):,} in {path}, the newest first")
    if not newest:
        endings = listed(_HISTORIES)
        raise InvalidValue(f"there are no histories or logs in {path}: files that end with {endings}")
    return {str(file.relative_to(path)): read_bytes(str(file)) for file in newest}
