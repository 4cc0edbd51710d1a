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
from quire.cli.terminal import errors_reported, note, read_bytes, say
from quire.errors import InvalidValue
from quire.reading.http import LOOPBACK
from quire.tokens import counter_for

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from quire.service import Runner

_CLOSING = 5
"""Seconds in which streams close after the turns have ended."""


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
        bool, typer.Option("--durable", help="leave the work to `quire work`, by PostgreSQL")
    ] = False,
    most: Annotated[int, typer.Option(min=1, help="refuse messages while so many jobs wait or run")] = 1_000,
    read_timeout: Annotated[
        float, typer.Option(min=0.1, help="seconds in which the body of a request is to be sent")
    ] = 60.0,
    grace: Annotated[float, typer.Option(min=0, help="seconds for running turns after a signal")] = 30.0,
    new_key: Annotated[
        str | None, typer.Option(help="print a new API key of this name, and its row for the file of keys")
    ] = None,
) -> None:
    """Serve the agents of a node over HTTP, until Ctrl+C or SIGTERM."""
    with errors_reported():
        from quire.service import Keys, app, new_key as made_key

        if new_key is not None:
            key, row = made_key(new_key)
            say(row)
            note(f"the key, which is shown only here: {key}")
            return
        if node is None:
            raise InvalidValue("which node? Name a Python file that has one")
        if keys is None and host not in LOOPBACK:
            raise InvalidValue("other machines are answered with keys only: give --keys")
        known = None if keys is None else Keys.read(read_bytes(keys))
        served, _ = node_in(node)
        runner: Runner | None = None
        if durable:
            runner = import_module("quire.service.durable").DurableRunner(served)
        made = app(served, runner=runner, keys=known, most=most, read_timeout=read_timeout, grace=grace)
        _serve(made, host, port)


def _serve(app: "Starlette", host: str, port: int) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """Lets turns end before it closes connections."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service = app.state.service
            await service.stop()
            await service.node.stop(grace=0)
            await super().shutdown(sockets)

    # The first count of tokens takes about a second; no message should wait for it.
    Thread(target=lambda: counter_for(COUNTED_AS).text("word " * 2_000), daemon=True).start()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.WARNING)
    logging.getLogger("quire.service").setLevel(logging.INFO)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as fault:
        raise InvalidValue(f"{host}:{port} cannot be used: {fault.strerror}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so for its own alone
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_CLOSING
    )
    say(f"http://{shown}:{listening.getsockname()[1]}")  # the socket listens already
    asyncio.run(Server(config).serve(sockets=[listening]))
