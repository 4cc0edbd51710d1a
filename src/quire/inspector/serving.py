"""Runs the inspector on the loopback address."""

import socket
from collections.abc import Callable
from threading import Thread

import uvicorn
from starlette.applications import Starlette

from quire.context import DEFAULT_MODEL
from quire.errors import InvalidValue
from quire.tokens import counter_for


def serve(app: Starlette, *, host: str, port: int, opened: Callable[[str], object]) -> None:
    """Serve until interrupted; `opened` is called with the address of the page."""
    # The first count of tokens takes some tenths of a second; no view should wait for it.
    Thread(target=lambda: counter_for(DEFAULT_MODEL).text("word " * 2_000), daemon=True).start()
    try:
        listening = socket.create_server((host, port))
    except OSError as fault:
        raise InvalidValue(f"port {port} cannot be used: {fault.strerror}") from None
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    opened(
        f"http://{host}:{listening.getsockname()[1]}{app.state.path}"
    )  # who is faster than the server waits at the socket
    uvicorn.Server(config).run(sockets=[listening])
