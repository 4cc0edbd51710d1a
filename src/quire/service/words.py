"""Words of running answers, on their way from workers to services: a table that is no record.

What was said is in the log once it is complete. The table is emptied after some minutes.
"""

import asyncio
import logging
from typing import Any

import msgspec

from quire.agent import Delta
from quire.errors import StoreError
from quire.service.runner import Told, told
from quire.session import Outcome
from quire.stores.postgres import PostgresStore
from quire.stores.threads import STORE

logger = logging.getLogger("quire.service")

_BATCHED = 0.1
"""Seconds of which the words are written at once."""

_KEPT = 600
"""Seconds for which they are kept."""

_LAST = "SELECT coalesce(max(number), 0) FROM quire.told WHERE job = %s"
_WRITE = "INSERT INTO quire.told (job, number, body) VALUES (%s, %s, %s)"
_READ = "SELECT body FROM quire.told WHERE job = %s AND number > %s ORDER BY number LIMIT 100"
_REMOVE = "DELETE FROM quire.told WHERE at < now() - make_interval(secs => %s)"

_batch = msgspec.json.Decoder(list[Told])


class Words:
    """Writes what one job tells, in batches."""

    def __init__(self, store: PostgresStore, job: str) -> None:
        self._store, self._job = store, job
        self._pieces: list[tuple[Any, str]] = []
        self._last = -1
        self._writing: asyncio.Task[None] | None = None

    def add(self, delta: Delta | Outcome) -> None:
        """Tell of a delta, soon."""
        one = told(0, delta)
        if one is None:
            return
        if self._pieces and self._pieces[-1][0] == one.kind in ("words", "thoughts"):
            self._pieces[-1] = one.kind, self._pieces[-1][1] + one.text
        else:
            self._pieces.append((one.kind, one.text))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())

    async def end(self, *, is_over: bool) -> None:
        """Wait until all is written; if the job is over, also that nothing follows."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
            if is_over:
                await STORE.do(self._insert, [])

    async def _write(self) -> None:
        while self._pieces:
            await asyncio.sleep(_BATCHED)
            pieces, self._pieces = self._pieces, []
            await STORE.do(self._insert, pieces)

    def _insert(self, pieces: list[tuple[Any, str]]) -> None:
        def insert(connection: Any) -> None:
            if self._last < 0:  # another worker may have told the beginning
                self._last = int(connection.execute(_LAST, [self._job]).fetchone()[0])
            batch = [Told(number, *piece) for number, piece in enumerate(pieces, self._last + 1)]
            last = self._last + max(len(batch), 1)
            connection.execute(_WRITE, [self._job, last, msgspec.json.encode(batch)])
            self._last = last

        try:
            self._store.link.run(insert)
        except StoreError as fault:  # they are in the log soon
            logger.warning("words of an answer are not told: %s", fault)


def read_words(store: PostgresStore, job: str, after: int) -> list[list[Told]]:
    """The next batches of what a job tells, after a number; an empty one is the last."""
    rows = store.link.run(lambda connection: connection.execute(_READ, [job, after]).fetchall())
    return [[one for one in _batch.decode(body) if one.number > after] for (body,) in rows]


def remove_words(store: PostgresStore) -> None:
    """Remove words that were told some minutes ago."""
    store.link.run(lambda connection: connection.execute(_REMOVE, [_KEPT]))
