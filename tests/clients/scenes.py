"""A server of our own that plays scenes: what each answers to one request after another, faults too."""

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

PATIENCE = 60.0
"""Seconds that a test waits for the server at most: machines are shared."""


class Exchange:
    """One request, and the means to answer it."""

    def __init__(self, http: BaseHTTPRequestHandler, scene: "Scene", body: Any) -> None:
        self._http = http
        self._scene = scene
        self.path = http.path
        self.headers = {name.lower(): value for name, value in http.headers.items()}
        self.body = body

    def answer(self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode() if not isinstance(body, bytes) else body
        self._http.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self._http.send_header(name, value)
        self._http.send_header("content-length", str(len(data)))
        self._http.end_headers()
        self._http.wfile.write(data)

    def begin(self) -> None:
        self._http.send_response(200)
        self._http.send_header("content-type", "text/event-stream")
        self._http.send_header("transfer-encoding", "chunked")
        self._http.end_headers()

    def chunk(self, text: str) -> None:
        data = text.encode()
        self._http.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self._http.wfile.flush()

    def end(self) -> None:
        self._http.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """End the connection without the end of what was begun."""
        self._http.close_connection = True

    def wait(self) -> None:
        """Say nothing more until the other side has gone."""
        self._scene.keeps_waiting.set()
        self._http.connection.settimeout(PATIENCE)
        with suppress(OSError):
            while self._http.connection.recv(1024):
                pass
        self._scene.left.set()
        self._http.close_connection = True


Step = Callable[[Exchange], None]


class Scene:
    """Steps that answer requests in turn, the last one again and again; what was sent is kept."""

    def __init__(self, base_url: str, steps: Sequence[Step]) -> None:
        self.base_url = base_url
        self.requests: list[Exchange] = []
        self.keeps_waiting, self.left = threading.Event(), threading.Event()
        self._steps = steps

    def play(self, exchange: Exchange) -> None:
        self.requests.append(exchange)
        self._steps[min(len(self.requests), len(self._steps)) - 1](exchange)


class Stage:
    """The server. A scene has an address of its own under it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._numbers = count()
        self.scenes: dict[str, Scene] = {}

    def scene(self, *steps: Step) -> Scene:
        name = str(next(self._numbers))
        self.scenes[name] = Scene(f"{self._address}/{name}", steps)
        return self.scenes[name]


@contextmanager
def stage() -> Generator[Stage]:
    """A server on this machine."""
    held: list[Stage] = []

    class Http(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length) or b"null")
            scene = held[0].scenes[self.path.split("/")[1]]
            with suppress(ConnectionError):
                scene.play(Exchange(self, scene, body))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Http)
    server.daemon_threads = True
    held.append(Stage(f"http://127.0.0.1:{server.server_address[1]}"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield held[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
