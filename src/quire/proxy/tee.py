"""What the recorder is given of a request and its answer, while their bytes go on their way."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from quire.proxy.exchange import Answer
from quire.proxy.observer import Begun
from quire.proxy.recorder import Recorder

LARGEST = 128 * 2**20
"""The largest body, in bytes, that is recorded; a larger one is passed on."""
READ = ("content-type", "content-encoding")
"""The headers that say how a body is to be read."""
KEY = b"quire-key"
"""The header with the key of the proxy itself, where it has keys."""
HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
NOT_SENT = HOP_BY_HOP | {b"host", b"expect", KEY}


class Target(NamedTuple):
    """Where a request goes: the name of the upstream, its path there, the whole address, and who asks."""

    upstream: str
    path: str
    url: str
    caller: str = ""


class Refused(Exception):
    """The proxy does not pass a request on."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Tee:
    """Keeps what comes back, for the recorder."""

    def __init__(self, recorder: Recorder, number: int, begun: "asyncio.Future[Begun] | None" = None) -> None:
        self._recorder, self._number = recorder, number
        self.change = begun if recorder.settings.fitting else None
        """What there may be to send in place of the request."""
        self._began = time.perf_counter()
        self._status = self._size = 0
        self._headers: tuple[tuple[str, str], ...] = ()
        self._chunks, self._times = list[bytes](), list[tuple[float, int]]()
        self.is_whole = self.is_changed = False
        self._is_closed = False

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Note the status and how the body is to be read."""
        self._status = status
        self._headers = tuple((name, value) for name, value in headers if name in READ)

    def add(self, chunk: bytes) -> None:
        """Keep a piece of the body, as long as it is not too large."""
        self._size += len(chunk)
        if self._size <= LARGEST:
            self._chunks.append(chunk)
            self._times.append((time.perf_counter() - self._began, self._size))

    def close(self) -> None:
        """Hand all of it on, once."""
        if self._is_closed:
            return
        self._is_closed = True
        is_whole = self.is_whole and self._size <= LARGEST
        body, times = b"".join(self._chunks), tuple(self._times)
        self._recorder.end(
            Answer(self._number, self._status, body, self._headers, times, is_whole, self.is_changed)
        )


TeeMaker = Callable[[Target, bytes, Iterable[tuple[str, str]]], Tee | None]
"""Begins to record a request; None if it is not to be recorded."""
