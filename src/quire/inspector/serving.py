"""Runs the inspector on the loopback address."""

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette


def serve(app: Starlette, *, host: str, port: int, opened: Callable[[str], object]) -> None:
    """Serve until interrupted; `opened` is called with the address of the page once it answers."""
    listening = socket.create_server((host, port))
    number = listening.getsockname()[1]
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    server = _Server(config, lambda: opened(f"http://{host}:{number}{app.state.path}"))
    server.run(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()
