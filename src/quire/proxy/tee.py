"""The tee: copies an answer for the recorder, while its bytes are passed on."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from quire.proxy.exchange import Answer
from quire.proxy.observer import Outcome
from quire.proxy.recorder import Recorder

MAX_BODY = 128 * 2**20
"""The largest body, in bytes, that is recorded; a larger one is only passed on."""
DECODING_HEADERS = ("content-type", "content-encoding")
"""The only headers that are recorded: they say how to decode a body."""
KEY_HEADER = b"quire-key"
"""The header with the key of the proxy itself, where it has keys."""
HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
NOT_SENT = HOP_BY_HOP | {b"host", b"expect", KEY_HEADER}


class Target(NamedTuple):
    """Where a request goes: the name of the upstream, its path there and the whole URL; and who sends it."""

    upstream: str
    path: str
    url: str
    caller: str = ""


class Refused(Exception):
    """The proxy refuses to pass a request on."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Tee:
    """Copies one answer for the recorder."""

    def __init__(
        self, recorder: Recorder, number: int, outcome: "asyncio.Future[Outcome | None] | None"
    ) -> None:
        self._recorder, self._number = recorder, number
        self.change = outcome if recorder.settings.allowed else None
        """The outcome to wait for before the request is sent."""
        self._began = time.perf_counter()
        self._status = self._size = 0
        self._headers: tuple[tuple[str, str], ...] = ()
        self._chunks, self._times = list[bytes](), list[tuple[float, int]]()
        self.is_whole = self.is_changed = False
        self._is_closed = False

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Note the status and the headers that say how to decode the body."""
        self._status = status
        self._headers = tuple((name, value) for name, value in headers if name in DECODING_HEADERS)

    def add(self, chunk: bytes) -> None:
        """Copy a piece of the body, unless it is too large."""
        self._size += len(chunk)
        if self._size <= MAX_BODY:
            self._chunks.append(chunk)
            self._times.append((time.perf_counter() - self._began, self._size))

    def close(self) -> None:
        """Hand the answer to the recorder, once."""
        if self._is_closed:
            return
        self._is_closed = True
        is_whole = self.is_whole and self._size <= MAX_BODY
        body, times = b"".join(self._chunks), tuple(self._times)
        self._recorder.end(
            Answer(self._number, self._status, body, self._headers, times, is_whole, self.is_changed)
        )


TeeMaker = Callable[[Target, bytes, Iterable[tuple[str, str]]], Tee | None]
"""Begins to record a request; None if nothing is recorded."""
