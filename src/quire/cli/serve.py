"""The command `serve`: the agents of a node over HTTP, until a signal ends it."""

import asyncio
import logging
import socket
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.nodes import node_in
from quire.cli.options import COUNTED_AS
from quire.cli.sockets import listen
from quire.cli.terminal import errors_reported, note, read_bytes, say
from quire.errors import InvalidValue
from quire.reading.http import LOOPBACK
from quire.tokens import counter_for

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from quire.service import Runner

_END_SECONDS = 5
"""How long streams may go on after the turns have ended."""


def serve(
    node: Annotated[
        str | None,
        typer.Argument(help="a Python file with a Node named node, or file.py:name", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="the address to listen at; others than loopback need keys")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="the port; 0 is a free one")] = 8000,
    keys: Annotated[str | None, typer.Option(help="file of API keys, in TOML")] = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="let `quire work` do the jobs, through PostgreSQL")
    ] = False,
    max_jobs: Annotated[
        int, typer.Option(min=1, help="refuse messages while this many jobs are open")
    ] = 1_000,
    read_timeout: Annotated[
        float, typer.Option(min=0.1, help="seconds in which the body of a request has to arrive")
    ] = 60.0,
    grace: Annotated[float, typer.Option(min=0, help="seconds for running turns after a signal")] = 30.0,
    new_key: Annotated[
        str | None, typer.Option(help="print a new API key of this name, and its row for the file of keys")
    ] = None,
) -> None:
    """Serve the agents of a node over HTTP, until Ctrl+C or SIGTERM."""
    with errors_reported():
        from quire.service import Keys, app, new_key as create_key

        if new_key is not None:
            key, row = create_key(new_key)
            say(row)
            note(f"the key, which is shown only here: {key}")
            return
        if node is None:
            raise InvalidValue("which node? Name a Python file that has one")
        if keys is None and host not in LOOPBACK:
            raise InvalidValue("other machines need keys: give --keys")
        accepted = None if keys is None else Keys.read(read_bytes(keys))
        served, _ = node_in(node)
        runner: Runner | None = None
        if durable:
            runner = import_module("quire.service.durable").DurableRunner(served)
        application = app(
            served, runner=runner, keys=accepted, max_jobs=max_jobs, read_timeout=read_timeout, grace=grace
        )
        _serve(application, host, port)


def _serve(app: "Starlette", host: str, port: int) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """Lets turns end before it closes connections."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service = app.state.service
            await service.stop()
            await service.node.stop(grace=0)
            await super().shutdown(sockets)

    # The first count of tokens takes about a second, so it begins here.
    Thread(target=lambda: counter_for(COUNTED_AS).text("word " * 2_000), daemon=True).start()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.WARNING)
    logging.getLogger("quire.service").setLevel(logging.INFO)
    listening, url = listen(host, port)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_END_SECONDS
    )
    say(url)  # the socket listens already
    asyncio.run(Server(config).serve(sockets=[listening]))
