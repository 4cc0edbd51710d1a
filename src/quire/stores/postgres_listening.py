"""One connection on which all who wait hear of what is added: they wait for long, and a server has few."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from psycopg import Connection

_TURN = 0.05
"""Seconds until a channel that somebody newly waits for is listened to."""

_REST = 5.0
"""Seconds that the connection is kept when nobody waits: who follows a conversation waits again and again."""

_SPARE = 1_000
"""So many channels that nobody waits for stay listened to, for the same reason."""


def tell_all(connection: "Connection[Any]", channel: str) -> None:
    """Ring wherever somebody waits for a channel, after what was added is committed.

    A server lets one transaction that tells commit at a time: within the one that adds, all who add would
    wait for each other's disk. What was added stays added where nobody could be told.
    """
    with suppress(psycopg.Error):
        connection.execute("SELECT pg_notify(%s, '')", [channel])


class Bell(Event):
    """Rings when it is time to look again; `fault` says why nothing can be heard any more."""

    fault: psycopg.Error | None = None

    def rest(self, seconds: float) -> None:
        """Wait until it rings, or the time is over."""
        self.wait(seconds)
        self.clear()
        if self.fault is not None:
            raise self.fault


class Listener:
    """Listens for as long as somebody waits, in a thread of its own, and comes back after it was cut off."""

    def __init__(self, connect: "Callable[[], Connection[Any]]", patience: Callable[[], float]) -> None:
        """`patience` says for how many seconds it tries to be connected again."""
        self._connect, self._patience = connect, patience
        self._lock = Lock()
        self._bells: dict[str, set[Bell]] = {}
        self._used_at = 0.0
        self._thread: Thread | None = None
        self._connection: Connection[Any] | None = None
        self._closed = False

    @contextmanager
    def waiting(self, channel: str) -> Generator[Bell, None, None]:
        """A bell that rings when something comes on a channel, and when that may have been missed."""
        bell = Bell()
        with self._lock:
            self._bells.setdefault(channel, set()).add(bell)
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._listen, name="quire-listener", daemon=True)
                self._thread.start()
        try:
            yield bell
        finally:
            with self._lock:
                self._used_at = time.monotonic()
                self._bells[channel].discard(bell)
                if not self._bells[channel]:
                    del self._bells[channel]

    def close(self) -> None:
        """Stop listening; those who wait are rung for."""
        with self._lock:
            self._closed, thread = True, self._thread
            self._ring(self._bells)
        if thread is not None:
            thread.join(2 * _TURN)  # it may be about to connect, which can take long

    def _listen(self) -> None:
        until: float | None = None
        while True:
            try:
                with self._connect() as self._connection:
                    until = None
                    self._hear(self._connection)
                    return
            except psycopg.Error as error:
                until = until or time.monotonic() + self._patience()
                if self._is_given_up(error, until):
                    return
            time.sleep(_TURN)

    def _hear(self, connection: "Connection[Any]") -> None:
        """Ring whenever something comes, until nobody waits any more."""
        heard = set[str]()
        while not self._is_over():
            heard = self._let_go(connection, heard)
            with self._lock:
                new = self._bells.keys() - heard
            for channel in new:
                connection.execute(f'LISTEN "{channel}"'.encode())
            heard |= new
            came = (
                [one.channel for one in connection.notifies(timeout=_TURN, stop_after=1)] if not new else []
            )
            with self._lock:
                self._ring([*new, *came])

    def _let_go(self, connection: "Connection[Any]", heard: set[str]) -> set[str]:
        with self._lock:
            spare = len(heard - self._bells.keys())
        if spare <= _SPARE:
            return heard
        connection.execute("UNLISTEN *")
        return set()

    def _is_over(self) -> bool:
        """Whether nobody waits, and nobody did lately; who comes then begins anew."""
        with self._lock:
            rested = not self._bells and time.monotonic() > self._used_at + _REST
            if rested or self._closed:
                self._thread = None
            return self._thread is None

    def _is_given_up(self, error: psycopg.Error, until: float) -> bool:
        with self._lock:
            is_lost = isinstance(error, psycopg.OperationalError)
            if is_lost and not self._closed and time.monotonic() < until:
                return False
            self._thread = None
            for bells in self._bells.values():
                for bell in bells:
                    bell.fault = error
            self._ring(self._bells)
            return True

    def _ring(self, channels: Iterable[str]) -> None:
        for channel in channels:
            for bell in self._bells.get(channel, ()):
                bell.set()
