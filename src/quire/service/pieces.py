"""Words of running answers, on their way from workers to services: a table that is no record.

What was said is in the log once it is complete. The table is emptied after some minutes.
"""

import asyncio
import logging

import msgspec

from quire.agent import Delta
from quire.errors import StoreError
from quire.service.runner import Kind, Told, told
from quire.session import Outcome
from quire.stores.postgres import PostgresStore
from quire.stores.threads import STORE

logger = logging.getLogger("quire.service")

_BATCHED = 0.1
"""Words within this time are written at once."""

_AT_ONCE = 100
"""Batches that are read at once."""

_KEPT = 600
"""Seconds for which they are kept."""

ENDED = -1
"""The count of a job that has ended, for those who watch it: before, it is the number of its last words."""

# Another worker may have told the beginning. One that lost its lease tells no more, nor does one whose
# conversation was removed.
_WRITE = """
    WITH written AS (
        INSERT INTO quire.pieces (job, number, address, body)
        SELECT %(job)s, coalesce(max(number), 0) + %(count)s, %(address)s, %(body)s
        FROM quire.pieces WHERE job = %(job)s
        HAVING EXISTS (SELECT FROM quire.workers WHERE id = %(worker)s AND state = 'here')
            AND EXISTS (SELECT FROM quire.conversations WHERE address = %(address)s)
        RETURNING job, number)
    SELECT pg_notify('quire_' || listener, job || ' ' || number) FROM written, quire.watchers
    WHERE address = decode(job, 'hex') AND until > now()"""
# What is watched under a key of this length is a job.
COUNTS = f"""
    SELECT key, CASE WHEN status IN ('ENQUEUED', 'PENDING', 'DELAYED')
        THEN coalesce((SELECT max(number) FROM quire.pieces WHERE job = workflow_uuid), 0) ELSE {ENDED} END
    FROM unnest(%s::bytea[]) AS key LEFT JOIN dbos.workflow_status ON workflow_uuid = encode(key, 'hex')
    WHERE length(key) = 20"""
# A workflow ends after all its words were written, so whoever reads that it has ended reads them too.
_READ = f"""
    SELECT is_open, told.number, told.body
    FROM (SELECT EXISTS (SELECT FROM dbos.workflow_status WHERE workflow_uuid = %(job)s
        AND status IN ('ENQUEUED', 'PENDING', 'DELAYED'))) AS workflow (is_open)
    LEFT JOIN LATERAL (SELECT number, body FROM quire.pieces WHERE job = %(job)s AND number > %(after)s
        ORDER BY number LIMIT {_AT_ONCE}) AS told ON true
    ORDER BY told.number"""
_REMOVE = "DELETE FROM quire.pieces WHERE at < now() - make_interval(secs => %s)"

_pieces_in = msgspec.json.Decoder(list[tuple[Kind, str]]).decode


class Words:
    """Writes what a worker tells of one job, in batches."""

    def __init__(self, store: PostgresStore, worker: str, address: bytes, job: str) -> None:
        self._store, self._of = store, {"worker": worker, "address": address, "job": job}
        self._pieces: list[tuple[Kind, str]] = []
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

    async def end(self) -> None:
        """Wait until all is written."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        while self._pieces:
            await asyncio.sleep(_BATCHED)
            pieces, self._pieces = self._pieces, []
            await STORE.do(self._insert, pieces)

    def _insert(self, pieces: list[tuple[Kind, str]]) -> None:
        row = {**self._of, "count": len(pieces), "body": msgspec.json.encode(pieces)}
        try:
            self._store.link.run(lambda connection: connection.execute(_WRITE, row))
        except StoreError as fault:  # they are in the log soon
            logger.warning("words of an answer are not told: %s", fault)


def read_words(store: PostgresStore, job: str, after: int) -> tuple[bool, list[Told], bool]:
    """Whether a job may tell more, what it tells next after a number, and whether there is more of it."""
    asked = {"job": job, "after": after}
    rows = store.link.run(lambda connection: connection.execute(_READ.encode(), asked).fetchall())
    batches = [(last, _pieces_in(body)) for _, last, body in rows if body is not None]
    pieces = [
        Told(number, *piece)
        for last, batch in batches
        for number, piece in enumerate(batch, last - len(batch) + 1)
        if number > after
    ]
    return rows[0][0], pieces, len(rows) == _AT_ONCE


def remove_words(store: PostgresStore) -> None:
    """Remove words that were told some minutes ago."""
    store.link.run(lambda connection: connection.execute(_REMOVE, [_KEPT]))
