"""A proxy that serves, and an upstream that keeps the bytes of requests and answers with given ones."""

import socket
import socketserver
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import uvicorn

from quire.proxy import Recorder, Relay, Settings
from tests.service.serving import PATIENCE, until


class Proxied(NamedTuple):
    """A proxy that serves. `url` is its address; `said` are its warnings."""

    url: str
    relay: Relay
    recorder: Recorder
    said: list[str]

    def settle(self) -> None:
        """Wait until all that went through is recorded or lost."""
        until(lambda: self.recorder.recorded + self.recorder.lost.total() == self.recorder.begun)


@contextmanager
def proxied(
    store: Path,
    settings: Settings | None = None,
    *,
    upstreams: Mapping[str, str],
    admit: Callable[[str], str | None] | None = None,
) -> Generator[Proxied]:
    """A proxy in a thread, which records in a process of its own."""
    said = list[str]()
    recorder = Recorder((settings or Settings())._replace(store=str(store)), said.append, pauses=(0.01, 1.0))
    relay = Relay(upstreams, recorder, admit=admit)
    config = uvicorn.Config(
        relay, log_config=None, server_header=False, date_header=False, timeout_graceful_shutdown=5
    )
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Proxied(f"http://127.0.0.1:{listening.getsockname()[1]}", relay, recorder, said)
    finally:
        server.should_exit = True
        thread.join()


Piece = bytes | Callable[[socket.socket], object]
"""Bytes to be sent at once, or what is done with the connection instead."""


class Upstream:
    """A server that keeps the requests it was sent, and answers each with the next pieces."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[bytes] = []
        self.answers: list[Sequence[Piece]] = []
        self.has_left = threading.Event()

    def answer(self, *pieces: Piece) -> None:
        self.answers.append(pieces)

    def wait(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        with suppress(OSError):
            while connection.recv(1024):
                pass
        self.has_left.set()


@contextmanager
def upstream() -> Generator[Upstream]:
    held: list[Upstream] = []

    class Connection(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                while head := self._head():
                    served = held[0]
                    length = next((int(v) for n, v in headers_in(head) if n == "content-length"), 0)
                    served.requests.append(head + self.rfile.read(length))
                    for piece in served.answers.pop(0):
                        if callable(piece):
                            piece(self.connection)
                            return
                        self.wfile.write(piece)
                        self.wfile.flush()

        def _head(self) -> bytes:
            lines = list[bytes]()
            while (line := self.rfile.readline()) not in (b"", b"\r\n"):
                lines.append(line)
            return b"".join(lines) + b"\r\n" if lines else b""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address = True, True

    with Server(("127.0.0.1", 0), Connection) as server:
        held.append(Upstream(f"http://127.0.0.1:{server.server_address[1]}"))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield held[0]
        finally:
            server.shutdown()
            thread.join()


def headers_in(head: bytes) -> list[tuple[str, str]]:
    lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":")[::2] for line in lines)
    return [(name.lower(), value.strip()) for name, value in pairs]


def chunked(pieces: Sequence[bytes]) -> list[bytes]:
    """Pieces of a body as chunks, with the end."""
    return [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces if piece] + [b"0\r\n\r\n"]
