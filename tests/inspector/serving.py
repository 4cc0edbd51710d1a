"""The inspector as it is used: a server on the loopback address, asked by HTTP."""

import json
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def data(self) -> Any:
        return json.loads(self.text)


class Served(NamedTuple):
    """A server that runs."""

    port: int
    entry: str = "/"
    """The path with the token, which is exchanged for a cookie."""
    store: str = ""
    """The path of the store."""
    cookie: str = ""
    path: str = "/"
    """The path of the page."""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, view: str = "") -> str:
        """The address of a view, such as `store/lamp-shop%2Fparcels/requests`."""
        return f"{self.origin}{self.entry}#/{view}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request to a path below the page's."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"cookie": self.cookie, **headers}
            given = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(
                method, path, given, {name.replace("_", "-"): text for name, text in headers.items()}
            )
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), dict(response.headers))
        finally:
            connection.close()

    def entered(self) -> "Served":
        """The same with the cookie, as a browser has it after it was at the entry."""
        answer = self.ask("GET", self.entry)
        return self._replace(cookie=answer.headers.get("set-cookie", "").partition(";")[0])

    def read(self, name: str, /, source: str = "store", **query: Any) -> Answer:
        return self.ask("GET", f"{self.path}api/{source}/{name}?{urlencode(query)}")

    def write(self, name: str, /, source: str = "store", **body: Any) -> Answer:
        return self.ask("POST", f"{self.path}api/{source}/{name}", body)


@contextmanager
def serving(application: Starlette, store: str = "") -> Generator[Served]:
    """Serve an application in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            application, loop="asyncio", http="h11", ws="none", lifespan="off", log_level="critical"
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listening],), name="inspector")
        thread.start()
        path = getattr(application.state, "path", "/")
        try:
            yield Served(listening.getsockname()[1], path, store).entered()
        finally:
            server.should_exit = server.force_exit = True  # streams of events are not waited for
            thread.join()
